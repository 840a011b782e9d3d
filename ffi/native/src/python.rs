//! The Python module `tileport_native`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Compiles the text of a cuTile Rust kernel to Tile IR bytecode.
#[pymodule]
mod tileport_native {
    use super::*;

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// The version of the cutile crates inside.
    #[pyfunction]
    fn cutile_version() -> &'static str {
        crate::CUTILE_VERSION
    }

    /// Starts the compile thread and has it parse cutile's modules.
    #[pyfunction]
    fn warm(py: Python<'_>) {
        py.detach(crate::warm);
    }

    /// Compiles a request, given as JSON; returns the bytecode, or None, and a report as JSON.
    #[pyfunction]
    fn compile<'py>(
        py: Python<'py>,
        request: &[u8],
    ) -> PyResult<(Option<Bound<'py, PyBytes>>, Bound<'py, PyBytes>)> {
        let invalid = |error: serde_json::Error| PyValueError::new_err(error.to_string());
        let request = serde_json::from_slice(request).map_err(invalid)?;
        let answer = py.detach(|| crate::compile(request));
        let report = serde_json::to_vec(&answer.report).map_err(invalid)?;
        Ok((
            answer.bytecode.map(|b| PyBytes::new(py, &b)),
            PyBytes::new(py, &report),
        ))
    }
}
