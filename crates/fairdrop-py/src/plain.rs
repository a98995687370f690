//! Trees of values as plain objects of Python.

use fairdrop_config::{Data, Node, Problem};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// The object of a value. `file` and `path` are what messages call it; the tree is at most as deep as its reader allows.
pub fn object_of<'py>(py: Python<'py>, node: &Node, file: &str, path: &str) -> PyResult<Bound<'py, PyAny>> {
    Ok(match &node.data {
        Data::Text(text) => text.into_pyobject(py)?.into_any(),
        Data::Integer(number) => number.into_pyobject(py)?.into_any(),
        Data::Number(number) => number.into_pyobject(py)?.into_any(),
        Data::Switch(on) => on.into_pyobject(py)?.to_owned().into_any(),
        Data::List(items) => {
            let items = items.iter().map(|item| object_of(py, item, file, path));
            PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        Data::Table(entries) => {
            let table = PyDict::new(py);
            for (name, value) in entries {
                let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                table.set_item(name, object_of(py, value, file, &inner)?)?;
            }
            table.into_any()
        }
        Data::Other(text) => {
            let valid = "a text, a number, true or false, a list or a table";
            let problem = Problem::new(file, node.origin.clone(), path, text, valid);
            return Err(PyValueError::new_err(problem.to_string()));
        }
    })
}
