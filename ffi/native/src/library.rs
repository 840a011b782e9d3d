//! The modules that come with cutile, parsed once, and a kernel's module indexed with them.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Mutex;

use cutile_compiler::ast::{Module, SpanBase};
use cutile_compiler::compiler::CUDATileModules;
use cutile_compiler::error::JITError;
use cutile_compiler::registry::CUTILE_MODULES;
use cutile_compiler::use_classifier::{UseClassification, classify_use, collect_use_imports};
use syn::{Item, ItemMod};

/// The crate that a port stands in, as far as paths in it go (`crate::..`).
pub const CRATE: &str = "port";

/// cutile's modules by the path they are registered under. Syntax trees belong to the thread
/// that parsed them.
#[derive(Default)]
pub struct Library {
    parsed: RefCell<HashMap<String, Module>>,
}

impl Library {
    /// A library that has parsed what every kernel uses.
    pub fn warm() -> Self {
        // Naming a function of cutile has its modules linked in, which are found by name.
        std::hint::black_box(cutile::core::__module_ast_self as fn() -> Module);
        let library = Self::default();
        library.built("cutile::core");
        library
    }

    /// A kernel's module and all modules of cutile that it uses, indexed.
    ///
    /// # Errors
    /// An item of the module is nothing that cutile takes.
    pub fn index(&self, module: &ItemMod, path: &str) -> Result<CUDATileModules, JITError> {
        let mut ast = module.clone();
        // What the macro captures begins after the attributes.
        ast.attrs.clear();
        let name = intern(&module.ident.to_string());
        let file = if path.is_empty() { "port.rs" } else { path };
        let mut kernel = Module::with_span_base(name, ast, SpanBase::new(file.to_string(), 1, 0));
        kernel.set_absolute_path(format!("{CRATE}::{name}"));
        let nested = module
            .content
            .as_ref()
            .is_some_and(|(_, items)| items.iter().any(|item| matches!(item, Item::Mod(_))));
        if nested {
            // Only this constructor tells a constant of a submodule from the kernel's own.
            return CUDATileModules::from_kernel(kernel);
        }
        CUDATileModules::new(self.with_used(kernel))
    }

    /// `kernel` and the registered modules it uses, directly or not, in the order in which
    /// `CUDATileModules::from_kernel` collects them.
    fn with_used(&self, kernel: Module) -> Vec<Module> {
        let registry = CUTILE_MODULES
            .iter()
            .map(|e| (e.absolute_path, e.build))
            .collect();
        let mut seen: HashSet<String> = HashSet::from([kernel.absolute_path().to_string()]);
        let mut queue = uses(&kernel);
        let mut found = vec![kernel];
        while let Some(path) = queue.pop() {
            let UseClassification::Registered { absolute_path } = classify_use(&path, &registry)
            else {
                continue;
            };
            let Some(module) = self.built(&absolute_path) else {
                continue;
            };
            if seen.insert(module.absolute_path().to_string()) {
                queue.extend(uses(&module));
                found.push(module);
            }
        }
        found
    }

    /// A module that comes with cutile, parsed at most once.
    fn built(&self, registered: &str) -> Option<Module> {
        if let Some(module) = self.parsed.borrow().get(registered) {
            return Some(module.clone());
        }
        let entry = CUTILE_MODULES
            .iter()
            .find(|e| e.absolute_path == registered)?;
        let module = (entry.build)();
        self.parsed
            .borrow_mut()
            .insert(registered.to_string(), module.clone());
        Some(module)
    }
}

/// The paths a module uses, with `crate`, `self` and `super` resolved.
fn uses(module: &Module) -> Vec<String> {
    collect_use_imports(module.ast())
        .iter()
        .map(|import| absolute(&import.path, module.absolute_path()))
        .collect()
}

/// `path` as seen from the crate's root, when it is used in module `owner`.
fn absolute(path: &str, owner: &str) -> String {
    let own: Vec<&str> = owner.split("::").collect();
    let mut rest: Vec<&str> = path.split("::").collect();
    let mut base = match rest[0] {
        "crate" => &own[..1],
        "self" | "super" => &own[..],
        _ => return path.to_string(),
    };
    while let Some(first @ ("crate" | "self" | "super")) = rest.first().copied() {
        if first == "super" {
            base = &base[..base.len().saturating_sub(1)];
        }
        rest.remove(0);
    }
    [base, &rest].concat().join("::")
}

/// cutile keeps module names for the life of the process; each distinct one is leaked once.
fn intern(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(known) = names.get(name) {
        return known;
    }
    let leaked: &'static str = Box::leak(name.to_string().into_boxed_str());
    names.insert(leaked);
    leaked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modules_of_cutile_are_linked_in() {
        let library = Library::warm();
        assert!(library.parsed.borrow().contains_key("cutile::core"));
    }

    /// A constant of theirs could shadow one of a kernel in `CUDATileModules::new`, which does
    /// not know which module is the kernel's.
    #[test]
    fn the_modules_of_cutile_define_no_constants() {
        for entry in CUTILE_MODULES {
            let module = (entry.build)();
            let items = &module.ast().content.as_ref().unwrap().1;
            assert!(
                !items.iter().any(|item| matches!(item, Item::Const(_))),
                "{} defines constants",
                entry.absolute_path
            );
        }
    }

    #[test]
    fn relative_paths_are_resolved_from_their_module() {
        assert_eq!(absolute("cutile::core", "port::m"), "cutile::core");
        assert_eq!(
            absolute("crate::m::f", "cutile::_core::core"),
            "cutile::m::f"
        );
        assert_eq!(absolute("self::f", "port::m"), "port::m::f");
        assert_eq!(absolute("super::super::f", "a::b::c"), "a::f");
        assert_eq!(absolute("super::super::super::f", "a::b"), "f");
    }

    #[test]
    fn a_name_is_leaked_once() {
        assert!(std::ptr::eq(intern("twice"), intern("twice")));
    }
}
