//! A port's text as syntax: its `#[cutile::module]`, its entry, and what can be told of them
//! before cutile's compiler sees them, with exact places.

use std::collections::HashSet;

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::{Attribute, FnArg, Item, ItemFn, ItemMod, Meta, Pat, Token, Type};

use crate::request::{Diagnostic, Place, Request, Source};

/// Keys that `#[cutile::entry(..)]` takes; the macro refuses others when rustc runs it, while
/// the compiler itself ignores what it does not know.
const ENTRY_KEYS: [&str; 6] = [
    "print_ir",
    "dump_mlir_dir",
    "unchecked_accesses",
    "deny_in_kernel_checks",
    "preconditions",
    "optimization_hints",
];

/// Deeper than any kernel; far below what the compile thread's stack can hold.
const NESTING_LIMIT: usize = 512;

/// The entry of a port, by its index among the items of the module.
pub struct Port<'a> {
    pub module: &'a ItemMod,
    pub entry: usize,
}

impl<'a> Port<'a> {
    /// Finds the request's entry in the port's module.
    ///
    /// # Errors
    /// There is no such entry, or it has a fault that cutile's compiler would pass over or
    /// report without a place.
    pub fn find(module: &'a ItemMod, request: &Request) -> Result<Self, Diagnostic> {
        let entry = find_entry(module, &request.entry)?;
        let port = Self { module, entry };
        check_keys(port.function())?;
        check_tensors(port.function(), request)?;
        Ok(port)
    }

    /// The entry as written.
    pub fn function(&self) -> &'a ItemFn {
        match &items(self.module)[self.entry] {
            Item::Fn(function) => function,
            _ => unreachable!("find_entry gives the index of a function"),
        }
    }
}

/// The items of a module with a body.
pub fn items(module: &ItemMod) -> &[Item] {
    module.content.as_ref().map_or(&[], |(_, items)| items)
}

/// The one `#[cutile::module]` of a port's text.
///
/// # Errors
/// The text is not Rust, or does not hold exactly one such module, with a body.
pub fn only_module(text: &str) -> Result<ItemMod, Diagnostic> {
    check_nesting(text)?;
    let file = syn::parse_file(text)
        .map_err(|error| fault(Source::Syntax, error.span(), syntax_message(&error)))?;
    let first = file
        .items
        .first()
        .map_or_else(Span::call_site, Spanned::span);
    let mut modules = file.items.into_iter().filter_map(|item| match item {
        Item::Mod(module) if module.attrs.iter().any(|a| last_segment_is(a, "module")) => {
            Some(module)
        }
        _ => None,
    });
    let Some(module) = modules.next() else {
        return Err(fault(
            Source::Frontend,
            first,
            "no #[cutile::module] here; a port is one `#[cutile::module] pub mod NAME { .. }`",
        ));
    };
    if let Some(second) = modules.next() {
        let message = format!(
            "a second #[cutile::module] `{}`; a port is one module, so move its functions into `{}`",
            second.ident, module.ident
        );
        return Err(fault(Source::Frontend, second.ident.span(), message));
    }
    if module.content.is_none() {
        let message = format!(
            "module `{}` has no body here; write `{{ .. }}`",
            module.ident
        );
        return Err(fault(Source::Frontend, module.ident.span(), message));
    }
    Ok(module)
}
/// syn's message, except for the one by which the tokenizer says nothing.
fn syntax_message(error: &syn::Error) -> String {
    match error.to_string().as_str() {
        "cannot parse string into token stream" => {
            "no Rust token begins here, or a bracket, quote or comment is not closed".to_string()
        }
        message => message.to_string(),
    }
}

/// A diagnostic at the start of `span`.
pub fn fault(source: Source, span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic {
        message: message.into(),
        place: place_of(span),
        source,
    }
}

/// The start of a span; 1:1 for one that is not of the text.
pub fn place_of(span: Span) -> Place {
    let start = span.start();
    Place {
        line: start.line.max(1),
        column: start.column + 1,
    }
}

/// Refuses text nested so deeply that a recursive parser could run out of stack. Brackets in
/// comments and strings may be counted: that needs hundreds of them, unbalanced, to matter.
fn check_nesting(text: &str) -> Result<(), Diagnostic> {
    let (mut depth, mut line, mut column) = (0usize, 1usize, 0usize);
    for character in text.chars() {
        column += 1;
        match character {
            '\n' => (line, column) = (line + 1, 0),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > NESTING_LIMIT {
            let message = format!("nested more than {NESTING_LIMIT} brackets deep");
            return Err(Diagnostic {
                message,
                place: Place { line, column },
                source: Source::Syntax,
            });
        }
    }
    Ok(())
}

fn last_segment_is(attribute: &Attribute, name: &str) -> bool {
    attribute
        .path()
        .segments
        .last()
        .is_some_and(|segment| segment.ident == name)
}

fn find_entry(module: &ItemMod, name: &str) -> Result<usize, Diagnostic> {
    let mut entries = Vec::new();
    for (index, item) in items(module).iter().enumerate() {
        let Item::Fn(function) = item else { continue };
        let is_entry = function.attrs.iter().any(|a| last_segment_is(a, "entry"));
        if function.sig.ident == name {
            if is_entry {
                return Ok(index);
            }
            let message = format!("`{name}` is no entry; write #[cutile::entry()] above it");
            return Err(fault(Source::Frontend, function.sig.ident.span(), message));
        }
        if is_entry {
            entries.push(format!("`{}`", function.sig.ident));
        }
    }
    let have = if entries.is_empty() {
        "none".to_string()
    } else {
        entries.join(", ")
    };
    let message = format!(
        "no entry `{name}` in module `{}`; its entries: {have}",
        module.ident
    );
    Err(fault(Source::Frontend, module.ident.span(), message))
}

/// The arguments of the entry attribute, where there are any and they can be read.
pub fn entry_arguments(function: &ItemFn) -> Result<Vec<Meta>, syn::Error> {
    let Some(attribute) = function.attrs.iter().find(|a| last_segment_is(a, "entry")) else {
        return Ok(Vec::new());
    };
    match &attribute.meta {
        Meta::List(list) => list
            .parse_args_with(syn::punctuated::Punctuated::<Meta, Token![,]>::parse_terminated)
            .map(|arguments| arguments.into_iter().collect()),
        _ => Ok(Vec::new()),
    }
}

fn check_keys(function: &ItemFn) -> Result<(), Diagnostic> {
    let arguments = entry_arguments(function)
        .map_err(|error| fault(Source::Frontend, error.span(), error.to_string()))?;
    for argument in arguments {
        let known = argument
            .path()
            .get_ident()
            .is_some_and(|key| ENTRY_KEYS.iter().any(|known| key == known));
        if !known {
            let message = format!(
                "unknown key of #[cutile::entry]; it has {}",
                ENTRY_KEYS.join(", ")
            );
            return Err(fault(Source::Frontend, argument.path().span(), message));
        }
    }
    Ok(())
}

/// Every tensor parameter needs strides from the launch; without them the compiler panics.
fn check_tensors(function: &ItemFn, request: &Request) -> Result<(), Diagnostic> {
    let given: HashSet<&str> = request.tensors.iter().map(|t| t.name.as_str()).collect();
    for input in &function.sig.inputs {
        let FnArg::Typed(parameter) = input else {
            continue;
        };
        let Pat::Ident(name) = &*parameter.pat else {
            continue;
        };
        if is_tensor(&parameter.ty) && !given.contains(name.ident.to_string().as_str()) {
            let message = format!(
                "nothing is known of the tensor `{}`: no array of the Python kernel stands for it",
                name.ident
            );
            return Err(fault(Source::Frontend, parameter.span(), message));
        }
    }
    Ok(())
}

fn is_tensor(ty: &Type) -> bool {
    match ty {
        Type::Reference(_) => true,
        Type::Path(path) => path
            .path
            .segments
            .last()
            .is_some_and(|last| last.ident == "MappedPartitionMut"),
        _ => false,
    }
}
