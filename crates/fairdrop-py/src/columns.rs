//! Tables of columns, which Arrow-speaking libraries take without copies.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, RecordBatch, RecordBatchIterator, StringArray, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use std::sync::Arc;

/// Columns under construction.
#[derive(Default)]
pub struct Columns {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl Columns {
    fn add(mut self, name: &str, kind: DataType, nullable: bool, array: ArrayRef) -> Self {
        self.fields.push(Field::new(name, kind, nullable));
        self.arrays.push(array);
        self
    }

    /// A column of texts.
    pub fn text<'a>(self, name: &str, values: impl IntoIterator<Item = &'a str>) -> Self {
        let array: StringArray = values.into_iter().map(Some).collect();
        self.add(name, DataType::Utf8, false, Arc::new(array))
    }

    /// A column of texts, some of which may be missing.
    pub fn maybe_text<'a>(self, name: &str, values: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        let array: StringArray = values.into_iter().collect();
        self.add(name, DataType::Utf8, true, Arc::new(array))
    }

    /// A column of numbers.
    pub fn number(self, name: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let array: Float64Array = values.into_iter().map(Some).collect();
        self.add(name, DataType::Float64, false, Arc::new(array))
    }

    /// A column of numbers, some of which may be missing.
    pub fn maybe(self, name: &str, values: impl IntoIterator<Item = Option<f64>>) -> Self {
        let array: Float64Array = values.into_iter().collect();
        self.add(name, DataType::Float64, true, Arc::new(array))
    }

    /// A column of counts.
    pub fn count(self, name: &str, values: impl IntoIterator<Item = u64>) -> Self {
        let array: UInt64Array = values.into_iter().map(Some).collect();
        self.add(name, DataType::UInt64, false, Arc::new(array))
    }

    /// A column of switches.
    pub fn switch(self, name: &str, values: impl IntoIterator<Item = bool>) -> Self {
        let array: BooleanArray = values.into_iter().map(Some).collect();
        self.add(name, DataType::Boolean, false, Arc::new(array))
    }

    /// The finished table; all columns must have one length.
    pub fn finish(self) -> Result<RecordBatch, ArrowError> {
        RecordBatch::try_new(Arc::new(Schema::new(self.fields)), self.arrays)
    }
}

/// A table, offered through the Arrow `PyCapsule` interface.
#[pyclass(frozen, module = "fairdrop._core")]
pub struct Table(pub RecordBatch);

#[pymethods]
impl Table {
    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// One column as a list.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let column = self.find(name)?;
        let any = column.as_any();
        if let Some(array) = any.downcast_ref::<StringArray>() {
            PyList::new(py, array.iter())
        } else if let Some(array) = any.downcast_ref::<Float64Array>() {
            PyList::new(py, array.iter())
        } else if let Some(array) = any.downcast_ref::<UInt64Array>() {
            PyList::new(py, array.iter())
        } else if let Some(array) = any.downcast_ref::<BooleanArray>() {
            PyList::new(py, array.iter())
        } else {
            Err(unknown_type(name, column))
        }
    }

    /// `NumPy`'s name for the type of one column.
    fn dtype(&self, name: &str) -> PyResult<&'static str> {
        let column = self.find(name)?;
        match column.data_type() {
            DataType::Utf8 => Ok("str"),
            DataType::Float64 => Ok("float64"),
            DataType::UInt64 => Ok("uint64"),
            DataType::Boolean => Ok("bool"),
            _ => Err(unknown_type(name, column)),
        }
    }

    /// The Arrow C stream of this table.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol allows a producer to ignore the schema that a consumer would like best.
        drop(requested_schema);
        let reader = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

impl Table {
    fn find(&self, name: &str) -> PyResult<&ArrayRef> {
        self.0.column_by_name(name).ok_or_else(|| {
            PyKeyError::new_err(format!("no column {name:?}; there are {}", self.columns().join(", ")))
        })
    }
}

fn unknown_type(name: &str, column: &ArrayRef) -> PyErr {
    PyValueError::new_err(format!("column {name:?} has type {}", column.data_type()))
}
