//! cutile's own compiler, driven from a syntax tree instead of a built crate.
//!
//! A kernel's text goes through the same steps as in cutile's launcher: its modules are collected
//! over its `use` statements, a function compiler is made for one entry and specialization, and
//! the IR is verified and written. Only the modules that come with cutile are kept parsed.

use std::cell::Cell;
use std::time::Instant;

use cutile_compiler::ast::SourceLocation;
use cutile_compiler::compiler::{CUDATileFunctionCompiler, CUDATileModules};
use cutile_compiler::cuda_tile_runtime_utils::serialize_tile_ir_bytecode_for_version;
use cutile_compiler::error::JITError;
use cutile_compiler::hints::{CodegenMode, CompileOptions};
use cutile_compiler::specialization::{DivHint, SpecializationBits};
use cutile_ir::bytecode::BytecodeVersion;
use cutile_ir::capabilities::TargetCapabilities;
use syn::ItemMod;

use crate::library::{CRATE, Library};
use crate::panics;
use crate::request::{Request, Tensor};
use crate::written::op_at_fault;

/// How far a compile came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Indexing the module's items.
    Modules,
    /// The entry's attribute, generics and parameters.
    Entry,
    /// The bodies.
    Body,
    /// Verifying and writing the IR.
    Write,
}

/// Why a compile failed. `location` is what cutile says, if it says anything.
#[derive(Debug, Clone)]
pub struct Failure {
    pub stage: Stage,
    pub message: String,
    pub location: Option<SourceLocation>,
}

/// Bytecode and how long its two steps took.
#[derive(Debug)]
pub struct Compiled {
    pub bytecode: Vec<u8>,
    pub compile_milliseconds: f64,
    pub write_milliseconds: f64,
}

/// A kernel's module with all it uses, indexed: good for any number of compiles.
pub struct Program {
    modules: CUDATileModules,
    /// The name that the kernel's module is indexed by.
    name: String,
}

impl Program {
    /// Compiles one entry.
    ///
    /// # Errors
    /// cutile's compiler refuses the entry, or panics.
    pub fn compile(&self, request: &Request) -> Result<Compiled, Failure> {
        let stage = Cell::new(Stage::Entry);
        attempt(&stage, || {
            let start = Instant::now();
            let (ir, version) = self.to_ir(request, &stage)?;
            let compiled = Instant::now();
            stage.set(Stage::Write);
            let written = serialize_tile_ir_bytecode_for_version(&ir, version);
            let (bytecode, _) = written.map_err(|error| {
                let message = error.to_string();
                match op_at_fault(&ir, &message) {
                    Some(location) => JITError::Located(message, location),
                    None => error,
                }
            })?;
            Ok(Compiled {
                bytecode,
                compile_milliseconds: (compiled - start).as_secs_f64() * 1e3,
                write_milliseconds: compiled.elapsed().as_secs_f64() * 1e3,
            })
        })
    }

    /// The IR of one entry, and the bytecode version it is to be written in.
    fn to_ir(
        &self,
        request: &Request,
        stage: &Cell<Stage>,
    ) -> Result<(cutile_ir::Module, BytecodeVersion), JITError> {
        let version = bytecode_version(&request.bytecode_version)?;
        let strides: Vec<(&str, &[i32])> = request
            .tensors
            .iter()
            .map(|t| (t.name.as_str(), t.strides.as_slice()))
            .collect();
        let bits: Vec<SpecializationBits> = request.tensors.iter().map(bits).collect();
        let specializations: Vec<(&str, &SpecializationBits)> = request
            .tensors
            .iter()
            .map(|t| t.name.as_str())
            .zip(&bits)
            .collect();
        let divs: Vec<(&String, DivHint)> = request
            .scalar_divs
            .iter()
            .map(|(name, div)| (name, divisible_by(*div)))
            .collect();
        let scalar_hints: Vec<(&str, &DivHint)> = divs
            .iter()
            .map(|(name, hint)| (name.as_str(), hint))
            .collect();
        let compiler = CUDATileFunctionCompiler::new(
            &self.modules,
            &self.name,
            &request.entry,
            &request.generics,
            &strides,
            &specializations,
            &scalar_hints,
            None,
            request.target.clone(),
            &options(request)?,
        )?
        .with_target_capabilities(TargetCapabilities::new(version, request.target.clone()))?;
        stage.set(Stage::Body);
        Ok((compiler.compile()?, version))
    }
}

/// The compiler with cutile's modules parsed; belongs to the thread that parsed them.
pub struct Frontend(Library);

impl Frontend {
    /// Parses what every kernel uses, so that the first compile is as fast as the others.
    pub fn warm() -> Self {
        Self(Library::warm())
    }

    /// Indexes a kernel's module and all modules of cutile that it uses.
    ///
    /// # Errors
    /// An item of the module is nothing that cutile takes.
    pub fn program(&self, module: &ItemMod, path: &str) -> Result<Program, Failure> {
        attempt(&Cell::new(Stage::Modules), || {
            let modules = self.0.index(module, path)?;
            // As in cutile's launcher: by its own name, or by its path where one of cutile's
            // modules has the same.
            let own = module.ident.to_string();
            let name = match modules.modules().contains_key(&own) {
                true => own,
                false => format!("{CRATE}::{own}"),
            };
            Ok(Program { modules, name })
        })
    }
}

/// Runs a part of cutile's compiler; errors and panics become a `Failure` of the stage reached.
fn attempt<T>(
    stage: &Cell<Stage>,
    work: impl FnOnce() -> Result<T, JITError>,
) -> Result<T, Failure> {
    let (message, location) = match panics::catch(work) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(JITError::Located(message, location))) if location.is_known() => {
            (message, Some(location))
        }
        Ok(Err(JITError::Anyhow(error))) => (format!("{error:#}"), None),
        Ok(Err(error)) => (error.to_string(), None),
        Err(message) => (format!("cutile's compiler panicked: {message}"), None),
    };
    let (message, quoted) = split_location(&message);
    Err(Failure {
        stage: stage.get(),
        message: panics::without_dump(&message),
        location: location.or(quoted),
    })
}

/// `DivHint`s carry their own ceiling; what Python captured is not to be cut.
fn divisible_by(divisor: i32) -> DivHint {
    DivHint {
        divisor,
        max: divisor.max(16),
    }
}

fn bits(tensor: &Tensor) -> SpecializationBits {
    SpecializationBits {
        shape_div: tensor.shape_div.iter().copied().map(divisible_by).collect(),
        stride_div: tensor
            .stride_div
            .iter()
            .copied()
            .map(divisible_by)
            .collect(),
        stride_one: tensor.stride_one.clone(),
        base_ptr_div: divisible_by(tensor.base_div),
        elements_disjoint: tensor.disjoint,
    }
}

fn options(request: &Request) -> Result<CompileOptions, JITError> {
    let mut options = CompileOptions::new();
    // The default follows the profile that this helper was built with.
    options.codegen = CodegenMode::RELEASE;
    for (name, value) in &request.options {
        let value = *value;
        options = match name.as_str() {
            "occupancy" => options.occupancy(value),
            "num_cta_in_cga" => options.num_cta_in_cga(value),
            "num_worker_warps_per_cta" => options.num_worker_warps_per_cta(value),
            "max_divisibility" => options.max_divisibility(value),
            "min_ctas_per_sm" => options.min_ctas_per_sm(value),
            _ => return JITError::generic(&format!("unknown compile option `{name}`")),
        };
    }
    Ok(options)
}

fn bytecode_version(text: &str) -> Result<BytecodeVersion, JITError> {
    let known = BytecodeVersion::SUPPORTED
        .iter()
        .find(|version| version.to_string() == text);
    known.copied().ok_or_else(|| {
        let supported: Vec<String> = BytecodeVersion::SUPPORTED
            .iter()
            .map(ToString::to_string)
            .collect();
        JITError::Generic(format!(
            "bytecode version `{text}` cannot be written; cutile writes {}",
            supported.join(", ")
        ))
    })
}

/// Takes `\n  --> file:line:column` off a message that quotes a located one.
fn split_location(message: &str) -> (String, Option<SourceLocation>) {
    let Some((before, place)) = message.rsplit_once("\n  --> ") else {
        return (message.to_string(), None);
    };
    let mut parts = place
        .trim_end_matches(|c: char| !c.is_ascii_digit())
        .rsplitn(3, ':');
    let (column, line, file) = (parts.next(), parts.next(), parts.next());
    let number = |text: Option<&str>| text.and_then(|text| text.parse().ok());
    let location = match (file, number(line), number(column)) {
        (Some(file), Some(line), Some(column)) => {
            Some(SourceLocation::new(file.to_string(), line, column))
        }
        _ => None,
    };
    (before.to_string(), location)
}

#[cfg(test)]
mod tests {
    use cutile_compiler::ast::{Module, SpanBase};

    use super::*;

    /// Keeping modules parsed must not change what comes out.
    #[test]
    fn the_bytes_are_those_of_cutiles_own_constructor() {
        let text = include_str!("../tests/constants.rs.txt");
        let request: Request = serde_json::from_value(serde_json::json!({
            "path": "port.rs", "text": text, "entry": "scaled", "generics": ["f16", "64"],
            "tensors": [{"name": "x", "strides": [1], "shape_div": [8], "stride_div": [1],
                         "base_div": 16, "stride_one": [true], "disjoint": true}],
            "scalar_divs": {"n": 4}, "target": "sm_100", "bytecode_version": "13.4",
        }))
        .unwrap();
        let module = crate::port::only_module(text).unwrap();
        let program = Frontend::warm().program(&module, "port.rs").unwrap();
        let ours = program.compile(&request).unwrap().bytecode;
        let mut ast = module.clone();
        ast.attrs.clear();
        let base = SpanBase::new(request.path.clone(), 1, 0);
        let mut kernel = Module::with_span_base("constants", ast, base);
        kernel.set_absolute_path("port::constants".to_string());
        let program = Program {
            modules: CUDATileModules::from_kernel(kernel).unwrap(),
            name: "constants".to_string(),
        };
        let theirs = program.compile(&request).unwrap().bytecode;
        assert_eq!(ours, theirs);
    }

    #[test]
    fn a_quoted_location_is_split_off() {
        let (message, location) = split_location("bad thing\n  --> /a b/x.rs:12:3");
        assert_eq!(message, "bad thing");
        assert_eq!(
            location,
            Some(SourceLocation::new("/a b/x.rs".into(), 12, 3))
        );
        assert_eq!(split_location("plain"), ("plain".to_string(), None));
    }
}
