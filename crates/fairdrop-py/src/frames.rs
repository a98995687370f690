//! Parquet files of columns that Python has, and back.

use crate::columns::{Columns, Table};
use crate::document::MAX_BYTES;
use crate::files::FileError;
use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use fairdrop_capture::open_regular;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Name, kind and values of a column: `text`, `number` (missing ones are None), `count`, `switch`.
pub type Column<'py> = (String, String, Bound<'py, PyAny>);

/// The columns as a table.
pub fn batch_of(columns: Vec<Column<'_>>) -> PyResult<RecordBatch> {
    let mut made = Columns::default();
    for (name, kind, values) in columns {
        made = match kind.as_str() {
            "text" => {
                let values: Vec<Option<String>> = values.extract()?;
                made.maybe_text(&name, values.iter().map(Option::as_deref))
            }
            "number" => made.maybe(&name, values.extract::<Vec<Option<f64>>>()?),
            "count" => made.count(&name, values.extract::<Vec<u64>>()?),
            "switch" => made.switch(&name, values.extract::<Vec<bool>>()?),
            other => return Err(PyValueError::new_err(format!("{name}: no kind {other:?}"))),
        };
    }
    made.finish().map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Writes a file as it is to stay; the caller puts it in its place.
pub fn write(path: &Path, batch: &RecordBatch) -> Result<(), FileError> {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let file = File::create(path).map_err(|error| FileError::new(path, error))?;
    ArrowWriter::try_new(file, batch.schema(), Some(properties))
        .and_then(|mut writer| writer.write(batch).and_then(|()| writer.close()))
        .map_err(|error| FileError::new(path, error))?;
    Ok(())
}

/// The tables of files that have the same columns, one after the other; only some of the columns where they are named.
pub fn read(paths: &[PathBuf], columns: Option<&[String]>) -> Result<Table, FileError> {
    let mut batches = Vec::new();
    for path in paths {
        let file = open_regular(path, MAX_BYTES).map_err(|error| FileError::new(path, error))?;
        let file = file.into_inner();
        let mut builder =
            ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| FileError::new(path, error))?;
        if let Some(names) = columns {
            let mask = ProjectionMask::columns(builder.parquet_schema(), names.iter().map(String::as_str));
            builder = builder.with_projection(mask);
        }
        for batch in builder.build().map_err(|error| FileError::new(path, error))? {
            batches.push(batch.map_err(|error| FileError::new(path, error))?);
        }
    }
    let Some(first) = batches.first() else {
        return Columns::default().finish().map(Table).map_err(|error| FileError::new(Path::new(""), error));
    };
    let path = paths.first().map_or(Path::new(""), PathBuf::as_path);
    concat_batches(&first.schema(), &batches).map(Table).map_err(|error| FileError::new(path, error))
}
