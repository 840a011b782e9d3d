//! The text of a cuTile Rust kernel to Tile IR bytecode, without rustc and without a GPU.
//!
//! cutile's macro keeps a module's source text and compiles it at run time; here the text comes
//! from an editor instead. Every fault comes back as a message with a line and a column.

mod engine;
mod frontend;
mod library;
mod locate;
mod panics;
mod port;
#[cfg(feature = "python")]
mod python;
mod request;
mod written;

pub use engine::{compile, warm};
pub use request::{Answer, Diagnostic, Place, Report, Request, Source, Tensor};

/// Half of a compile is allocation, which this does in two thirds of the time of glibc's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The version of the cutile crates inside; a port is written for one.
pub const CUTILE_VERSION: &str = "0.5.0";

#[cfg(test)]
mod tests {
    #[test]
    fn the_version_told_is_the_version_inside() {
        let lock = include_str!("../../Cargo.lock").replace("\r\n", "\n");
        for name in ["cutile", "cutile-compiler", "cutile-ir"] {
            let package = format!(
                "name = \"{name}\"\nversion = \"{}\"\n",
                super::CUTILE_VERSION
            );
            assert!(lock.contains(&package), "{name} is another version");
        }
    }
}
