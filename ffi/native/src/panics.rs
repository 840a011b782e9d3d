//! Panics of cutile's compiler as messages: it panics on input it did not foresee.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

/// Messages can hold a whole syntax tree, printed.
const MESSAGE_LIMIT: usize = 600;

thread_local! {
    /// Where the last panic inside `catch` happened; None outside `catch`.
    static CAUGHT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `work`; a panic inside it becomes an error that says what the compiler said and where
/// in the compiler, and prints nothing.
pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    install();
    CAUGHT.with(|caught| *caught.borrow_mut() = Some(String::new()));
    // Nothing that `work` touches is used again after a panic, except the parsed core modules,
    // which are only ever cloned.
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    let place = CAUGHT
        .with(|caught| caught.borrow_mut().take())
        .unwrap_or_default();
    outcome.map_err(|payload| {
        let message = without_dump(&text(payload.as_ref()));
        if place.is_empty() {
            message
        } else {
            format!("{message} ({place})")
        }
    })
}

fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let ours = CAUGHT.with(|caught| match &mut *caught.borrow_mut() {
                Some(place) => {
                    *place = place_in_crate(info);
                    true
                }
                None => false,
            });
            if !ours {
                previous(info);
            }
        }));
    });
}

/// `cutile-compiler-0.5.0/src/types.rs:12`: from the crate's folder on, since what comes before
/// is the machine the helper was built on.
fn place_in_crate(info: &PanicHookInfo<'_>) -> String {
    let Some(location) = info.location() else {
        return String::new();
    };
    let path = location.file().replace('\\', "/");
    let mut parts: Vec<&str> = path.split('/').collect();
    if let Some(source) = parts.iter().rposition(|part| *part == "src") {
        parts.drain(..source.saturating_sub(1));
    }
    format!("{}:{}", parts.join("/"), location.line())
}

fn text(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string))
        .unwrap_or_else(|| "no message".to_string())
}

/// A message without the syntax tree that some of them print, and not longer than a paragraph.
pub fn without_dump(message: &str) -> String {
    let message = &without_marks(message);
    let dump = ["{\n", "[\n", "(\n"]
        .iter()
        .filter_map(|open| message.find(open))
        .min();
    let mut kept = message[..dump.unwrap_or(message.len())].trim_end();
    if dump.is_some() {
        // The dump begins with the name of its type: `TypePath {`.
        let word = kept
            .rfind(|c: char| !c.is_alphanumeric() && c != '_')
            .map_or(0, |at| at + 1);
        if kept[word..].starts_with(char::is_uppercase) {
            kept = &kept[..word];
        }
        kept = kept.trim_end_matches([' ', ':', ',']);
    }
    match kept.char_indices().nth(MESSAGE_LIMIT) {
        Some((end, _)) => format!("{}…", &kept[..end]),
        None => kept.to_string(),
    }
}

/// A message without the attributes by which the compiler numbers the nodes of what it quotes.
fn without_marks(message: &str) -> String {
    let mut parts = message.split("# [__cutile_node_id = ");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |kept, part| {
        kept + part.split_once("] ").map_or(part, |(_, rest)| rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message_and_place() {
        let message = catch(|| panic!("no {}", "way")).unwrap_err();
        assert!(
            message.starts_with("no way (native/src/panics.rs:"),
            "{message}"
        );
    }

    #[test]
    fn a_huge_message_is_cut_at_a_character() {
        let message = catch(|| panic!("{}", "ä".repeat(5000))).unwrap_err();
        assert!(message.chars().count() < MESSAGE_LIMIT + 60);
    }

    #[test]
    fn a_printed_syntax_tree_is_left_out() {
        for (message, kept) in [
            (
                "Unsupported type: TypePath {\n    qself: None,\n}",
                "Unsupported type",
            ),
            ("Unexpected generics {\n    a: 1,\n}", "Unexpected generics"),
            ("two\nlines {}", "two\nlines {}"),
            (
                "rhs for # [__cutile_node_id = 6] b + # [__cutile_node_id = 12] c",
                "rhs for b + c",
            ),
            (
                "Unable to extract ident from [\n 1\n] here",
                "Unable to extract ident from",
            ),
        ] {
            assert_eq!(without_dump(message), kept);
        }
    }

    #[test]
    fn no_panic_gives_the_value() {
        assert_eq!(catch(|| 3), Ok(3));
    }
}
