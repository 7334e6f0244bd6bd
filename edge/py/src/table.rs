// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Tables, passed to Python without a copy: the Arrow PyCapsule interface.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowSchema, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{
    ArrowPrimitiveType, Float64Type, Int8Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, RecordBatch, RecordBatchIterator, StructArray};
use arrow_schema::{ArrowError, DataType};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

/// The capsule names that the interface prescribes.
const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// Rows of named columns.
#[pyclass(name = "Table", module = "taut._taut", frozen)]
#[derive(Debug)]
pub(crate) struct Table(RecordBatch);

/// The numpy name of the element type, the elements as bytes, one byte per element that says whether it is present,
/// and the words to which the elements are indices. If there are no bytes, the words themselves.
type Column<'py> =
    (&'static str, Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>, Option<Vec<Option<String>>>);

fn arrow(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn bytes<'py, T: ArrowPrimitiveType>(py: Python<'py>, array: &dyn Array) -> Bound<'py, PyBytes> {
    let array = array.as_primitive::<T>();
    PyBytes::new(py, array.values().inner().as_slice())
}

fn words(array: &dyn Array) -> Vec<Option<String>> {
    array.as_string::<i32>().iter().map(|word| word.map(str::to_owned)).collect()
}

fn plain<'py>(py: Python<'py>, array: &dyn Array) -> Option<(&'static str, Bound<'py, PyBytes>)> {
    Some(match array.data_type() {
        DataType::UInt64 => ("u8", bytes::<UInt64Type>(py, array)),
        DataType::UInt32 => ("u4", bytes::<UInt32Type>(py, array)),
        DataType::UInt16 => ("u2", bytes::<UInt16Type>(py, array)),
        DataType::UInt8 => ("u1", bytes::<UInt8Type>(py, array)),
        DataType::Int64 => ("i8", bytes::<Int64Type>(py, array)),
        DataType::Int32 => ("i4", bytes::<Int32Type>(py, array)),
        DataType::Int8 => ("i1", bytes::<Int8Type>(py, array)),
        DataType::Float64 => ("f8", bytes::<Float64Type>(py, array)),
        DataType::Boolean => {
            let each: Vec<_> = array.as_boolean().values().iter().map(u8::from).collect();
            ("?", PyBytes::new(py, &each))
        }
        _ => return None,
    })
}

impl Table {
    /// A table of one batch.
    pub(crate) fn new(batch: RecordBatch) -> Self {
        Self(batch)
    }
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// The names of all columns.
    fn names(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// A column for numpy.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Column<'py>> {
        let array =
            self.0.column_by_name(name).ok_or_else(|| PyKeyError::new_err(format!("no column `{name}`")))?;
        let there = array.nulls().filter(|nulls| nulls.null_count() > 0).map(|nulls| {
            let each: Vec<_> = nulls.iter().map(u8::from).collect();
            PyBytes::new(py, &each)
        });
        if let Some(dictionary) = array.as_any_dictionary_opt()
            && let Some((kind, bytes)) = plain(py, dictionary.keys())
        {
            return Ok((kind, bytes, there, Some(words(dictionary.values()))));
        }
        if array.data_type() == &DataType::Utf8 {
            return Ok(("U", PyBytes::new(py, &[]), there, Some(words(array))));
        }
        let (kind, bytes) = plain(py, array)
            .ok_or_else(|| PyValueError::new_err(format!("column `{name}` has no numpy type")))?;
        Ok((kind, bytes, there, None))
    }

    /// The schema, as the interface wants it.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema().as_ref()).map_err(arrow)?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }

    /// All rows as one struct array, as the interface wants them.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // The interface allows ignoring this request.
        let _ = requested_schema;
        let (array, schema) = to_ffi(&StructArray::from(self.0.clone()).to_data()).map_err(arrow)?;
        let schema = PyCapsule::new_with_value(py, schema, SCHEMA)?;
        Ok((schema, PyCapsule::new_with_value(py, array, ARRAY)?))
    }

    /// All rows as a stream of one batch, as the interface wants them.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let schema = Arc::clone(self.0.schema_ref());
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, STREAM)
    }
}

/// Adds the type of this file to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Table>()
}
