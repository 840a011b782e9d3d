//! What comes in and what goes out, as JSON: plain values only.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One entry of one port text, for one specialization and target.
#[derive(Debug, Clone, Deserialize)]
pub struct Request {
    /// Names the port in places and debug info; never opened.
    pub path: String,
    pub text: String,
    pub entry: String,
    #[serde(default)]
    pub generics: Vec<String>,
    #[serde(default)]
    pub tensors: Vec<Tensor>,
    /// Divisibility of integer scalars and raw pointers, by parameter name.
    #[serde(default)]
    pub scalar_divs: BTreeMap<String, i32>,
    /// Compile options by their name in `CompileOptions`.
    #[serde(default)]
    pub options: BTreeMap<String, i32>,
    pub target: String,
    /// `13.4`
    pub bytecode_version: String,
}

/// What a launch fixes for one tensor parameter.
#[derive(Debug, Clone, Deserialize)]
pub struct Tensor {
    pub name: String,
    /// 1 where the stride is the constant 1, -1 where it is known at run time.
    pub strides: Vec<i32>,
    /// In elements, per dimension.
    pub shape_div: Vec<i32>,
    /// In elements, per dimension.
    pub stride_div: Vec<i32>,
    /// In bytes.
    pub base_div: i32,
    pub stride_one: Vec<bool>,
    pub disjoint: bool,
}

/// A line and a column of the request's text, both from 1; the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

/// Which step found a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The text is not Rust.
    Syntax,
    /// cutile's compiler, or a check made here on its behalf.
    Frontend,
}

/// One error with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    pub message: String,
    #[serde(flatten)]
    pub place: Place,
    pub source: Source,
}

/// The answer beside the bytecode itself.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    pub diagnostics: Vec<Diagnostic>,
    /// Per step that ran: `parse`, `compile`, `write`.
    pub milliseconds: BTreeMap<&'static str, f64>,
}

/// Bytecode, or diagnostics.
#[derive(Debug, Default)]
pub struct Answer {
    pub bytecode: Option<Vec<u8>>,
    pub report: Report,
}
