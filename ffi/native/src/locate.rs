//! Places for faults that cutile's compiler reports without one, panics among them.
//!
//! The compiler is asked again with less: with the first items of the module, the first
//! parameters of the entry, the first statements of its body. The shortest beginning that fails
//! with the same message ends in what is at fault.

use std::time::{Duration, Instant};

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{Block, Expr, Item, ItemFn, Meta, Stmt};

use crate::frontend::{Failure, Frontend, Stage};
use crate::port::{Port, entry_arguments, items, place_of};
use crate::request::{Place, Request};

/// Compiles spent on one fault, in time; a kernel's first failing compile has come before.
const BUDGET: Duration = Duration::from_millis(1500);

/// The best place for `failure`: what the compiler said where it names a place in the text,
/// else what is found by asking it again, at worst the entry's name.
pub fn locate(frontend: &Frontend, port: &Port<'_>, request: &Request, failure: &Failure) -> Place {
    if let Some(place) = stated(port, request, failure) {
        return place;
    }
    let search = Search {
        frontend,
        port,
        request,
        failure,
        deadline: Instant::now() + BUDGET,
    };
    let function = port.function();
    let span = match failure.stage {
        Stage::Modules => search.item(),
        Stage::Entry => search.attribute().or_else(|| search.parameter()),
        Stage::Body | Stage::Write => search.statement(),
    };
    let whole = span.unwrap_or_else(|| function.sig.ident.span());
    place_of(named_in(port, whole, &failure.message).unwrap_or(whole))
}

/// The place that the compiler gave, if it is one of the module: spans of generated code and of
/// cutile's own modules resolve to lines that are not.
fn stated(port: &Port<'_>, request: &Request, failure: &Failure) -> Option<Place> {
    let location = failure.location.as_ref()?;
    let line = request.text.lines().nth(location.line.checked_sub(1)?)?;
    let module = port.module.span();
    let inside = (module.start().line..=module.end().line).contains(&location.line)
        && location.column <= line.chars().count();
    let same_file = location.file == request.path || request.path.is_empty();
    (inside && same_file).then_some(Place {
        line: location.line,
        column: location.column + 1,
    })
}

struct Search<'a> {
    frontend: &'a Frontend,
    port: &'a Port<'a>,
    request: &'a Request,
    failure: &'a Failure,
    deadline: Instant,
}

impl Search<'_> {
    /// Whether the module, changed, fails with the same message at the same stage.
    fn fails(&self, change: impl FnOnce(&mut Vec<Item>)) -> bool {
        let mut module = self.port.module.clone();
        if let Some((_, items)) = &mut module.content {
            change(items);
        }
        let program = self.frontend.program(&module, &self.request.path);
        let outcome = program.and_then(|program| program.compile(self.request));
        outcome.is_err_and(|failure| {
            failure.stage == self.failure.stage
                && gist(&failure.message) == gist(&self.failure.message)
        })
    }

    fn entry_fails(&self, change: impl FnOnce(&mut ItemFn)) -> bool {
        self.fails(|items| {
            if let Item::Fn(function) = &mut items[self.port.entry] {
                change(function);
            }
        })
    }

    /// The smallest `n` in `1..=count` for which `fails(n)`, given that more never mends it;
    /// None if even all of them do not fail, none at all do, or time is up.
    fn shortest(&self, count: usize, fails: impl Fn(usize) -> bool) -> Option<usize> {
        if count == 0 || fails(0) || !fails(count) {
            return None;
        }
        let (mut good, mut bad) = (0, count);
        while bad - good > 1 {
            if Instant::now() > self.deadline {
                return None;
            }
            let middle = good + (bad - good) / 2;
            if fails(middle) {
                bad = middle
            } else {
                good = middle
            }
        }
        Some(bad)
    }

    fn item(&self) -> Option<Span> {
        let items = items(self.port.module);
        let count = self.shortest(items.len(), |n| self.fails(|items| items.truncate(n)))?;
        Some(items[count - 1].span())
    }

    /// The argument of the entry's attribute at fault; inside hints, the hint.
    fn attribute(&self) -> Option<Span> {
        let arguments = entry_arguments(self.port.function()).ok()?;
        let set = |function: &mut ItemFn, arguments: &[Meta]| {
            for attribute in &mut function.attrs {
                if attribute
                    .path()
                    .segments
                    .last()
                    .is_some_and(|s| s.ident == "entry")
                {
                    let path = attribute.path().clone();
                    *attribute = syn::parse_quote!(#[#path(#(#arguments),*)]);
                }
            }
        };
        let count = self.shortest(arguments.len(), |n| {
            self.entry_fails(|function| set(function, &arguments[..n]))
        })?;
        let culprit = &arguments[count - 1];
        let Meta::NameValue(named) = culprit else {
            return Some(culprit.span());
        };
        let alone = |value: Expr| {
            let mut changed = named.clone();
            changed.value = value;
            self.entry_fails(|function| set(function, &[Meta::NameValue(changed)]))
        };
        Some(
            self.hint(&named.value, &alone)
                .unwrap_or_else(|| culprit.span()),
        )
    }

    /// The innermost element of nested `(key = value, ..)` at fault.
    fn hint(&self, value: &Expr, fails: &dyn Fn(Expr) -> bool) -> Option<Span> {
        let Expr::Tuple(tuple) = value else {
            return Some(value.span());
        };
        let count = self.shortest(tuple.elems.len(), |n| {
            let mut shorter = tuple.clone();
            shorter.elems = tuple.elems.iter().take(n).cloned().collect();
            if !shorter.elems.is_empty() && !shorter.elems.trailing_punct() {
                shorter.elems.push_punct(Default::default());
            }
            fails(Expr::Tuple(shorter))
        })?;
        let element = &tuple.elems[count - 1];
        let Expr::Assign(assign) = element else {
            return Some(element.span());
        };
        let inner = self.hint(&assign.right, &|value| {
            let mut changed = assign.clone();
            changed.right = Box::new(value);
            let mut shorter = tuple.clone();
            shorter.elems = [Expr::Assign(changed)].into_iter().collect();
            shorter.elems.push_punct(Default::default());
            fails(Expr::Tuple(shorter))
        });
        match &*assign.right {
            Expr::Tuple(_) => Some(inner.unwrap_or_else(|| element.span())),
            _ => Some(element.span()),
        }
    }

    fn parameter(&self) -> Option<Span> {
        let inputs = &self.port.function().sig.inputs;
        let count = self.shortest(inputs.len(), |n| {
            self.entry_fails(|f| f.sig.inputs = inputs.iter().take(n).cloned().collect())
        })?;
        Some(inputs[count - 1].span())
    }

    /// The statement at fault, as deep inside loops and branches as can be told.
    fn statement(&self) -> Option<Span> {
        let function = self.port.function();
        let mut path = Vec::new();
        let mut block = &*function.block;
        let mut found = None;
        loop {
            let here = &path;
            let count = self.shortest(block.stmts.len(), |n| {
                self.entry_fails(|function| truncate(&mut function.block, here, n))
            });
            let Some(count) = count else { return found };
            let statement = &block.stmts[count - 1];
            found = Some(statement.span());
            path.push(count - 1);
            match inner_block(statement) {
                Some(inner) => block = inner,
                None => return found,
            }
        }
    }
}

/// A message without what it quotes in brackets, which shrinks along with the text.
fn gist(message: &str) -> String {
    let mut depth = 0_usize;
    let mut kept = String::new();
    for character in message.chars() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ if depth == 0 => kept.push(character),
            _ => {}
        }
    }
    kept
}

/// The block a statement consists of mainly: of a loop, an `unsafe`, an `if` without `else`.
/// Cutting other blocks changes a value that what follows needs.
fn inner_block(statement: &Stmt) -> Option<&Block> {
    let Stmt::Expr(expression, _) = statement else {
        return None;
    };
    match expression {
        Expr::ForLoop(inner) => Some(&inner.body),
        Expr::While(inner) => Some(&inner.body),
        Expr::Loop(inner) => Some(&inner.body),
        Expr::Unsafe(inner) => Some(&inner.block),
        Expr::Block(inner) => Some(&inner.block),
        Expr::If(inner) if inner.else_branch.is_none() => Some(&inner.then_branch),
        _ => None,
    }
}

fn inner_block_mut(statement: &mut Stmt) -> Option<&mut Block> {
    let Stmt::Expr(expression, _) = statement else {
        return None;
    };
    match expression {
        Expr::ForLoop(inner) => Some(&mut inner.body),
        Expr::While(inner) => Some(&mut inner.body),
        Expr::Loop(inner) => Some(&mut inner.body),
        Expr::Unsafe(inner) => Some(&mut inner.block),
        Expr::Block(inner) => Some(&mut inner.block),
        Expr::If(inner) if inner.else_branch.is_none() => Some(&mut inner.then_branch),
        _ => None,
    }
}

/// Cuts the block reached over the statements `path` to its first `count` statements, and every
/// block on the way there behind the statement that leads on.
fn truncate(block: &mut Block, path: &[usize], count: usize) {
    match path.split_first() {
        None => block.stmts.truncate(count),
        Some((index, rest)) => {
            block.stmts.truncate(index + 1);
            if let Some(inner) = block.stmts.last_mut().and_then(inner_block_mut) {
                truncate(inner, rest, count);
            }
        }
    }
}

/// The token that the message is about: a name it quotes or ends with, or an integer too large
/// for i32. It is looked for in the part of the text at fault; where it is not in there, it may
/// be the only one of its kind in a function that part calls.
fn named_in(port: &Port<'_>, whole: Span, message: &str) -> Option<Span> {
    let mut tokens = Vec::new();
    flatten(port.module.to_token_stream(), &mut tokens);
    let find = |wanted: &dyn Fn(&str) -> bool| {
        let mut inside = tokens.iter().filter(|(text, _)| wanted(text));
        let first = inside.clone().find(|(_, span)| within(*span, whole));
        match (first, inside.next(), inside.next()) {
            (Some((_, span)), ..) | (None, Some((_, span)), None) => Some(*span),
            _ => None,
        }
    };
    let told = message.split(" (cutile").next().unwrap_or(message);
    let quoted = told.split(['`', '\'', '"']).skip(1).step_by(2);
    let last = told.split(' ').next_back();
    let is_name =
        |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let large = told.split(|c: char| !c.is_ascii_digit()).find(|digits| {
        digits
            .parse::<i128>()
            .is_ok_and(|value| value > i128::from(i32::MAX))
    });
    quoted
        .chain(last.filter(is_name))
        .find_map(|name| find(&|token| token == name))
        .or_else(|| {
            let large = large?;
            find(&|token| {
                token.starts_with(|c: char| c.is_ascii_digit())
                    && token.replace('_', "").trim_end_matches("i32") == large
            })
        })
}

fn flatten(tokens: TokenStream, into: &mut Vec<(String, Span)>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => flatten(group.stream(), into),
            token => into.push((token.to_string(), token.span())),
        }
    }
}

fn within(inner: Span, outer: Span) -> bool {
    let at = |position: proc_macro2::LineColumn| (position.line, position.column);
    at(outer.start()) <= at(inner.start()) && at(inner.end()) <= at(outer.end())
}
