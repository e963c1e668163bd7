//! Writer of columns to a Parquet file. It does not use Arrow, which would be the largest part of the executable.

use crate::column::Column;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::io::Write;
use std::sync::Arc;

impl Column {
    fn physical(&self) -> (Physical, Option<LogicalType>) {
        match self {
            Column::Bool(_) => (Physical::BOOLEAN, None),
            Column::Count(_) => (Physical::INT64, Some(LogicalType::integer(64, false))),
            Column::Number(_) => (Physical::DOUBLE, None),
            Column::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        }
    }

    fn write<W: Write + Send>(
        &self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        match self {
            Column::Bool(values) => write_values::<BoolType, W>(group, values.iter().copied()),
            // Parquet stores an unsigned integer as the signed integer with the same bits.
            Column::Count(values) => write_values::<Int64Type, W>(
                group,
                values.iter().map(|value| value.map(|value| value as i64)),
            ),
            Column::Number(values) => write_values::<DoubleType, W>(group, values.iter().copied()),
            Column::Text(values) => {
                let bytes = values.iter().map(|value| value.as_deref().map(ByteArray::from));
                write_values::<ByteArrayType, W>(group, bytes)
            }
        }
    }
}

fn write_values<D: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: impl Iterator<Item = Option<D::T>>,
) -> Result<(), ParquetError> {
    let (mut present, mut levels) = (Vec::new(), Vec::new());
    for value in values {
        levels.push(i16::from(value.is_some()));
        present.extend(value);
    }
    let mut writer = group.next_column()?.expect("as many columns as in the schema");
    writer.typed::<D>().write_batch(&present, Some(&levels), None)?;
    writer.close()
}

/// Writes `columns`, which all have the same length, and `metadata` to `out`.
pub fn write<W: Write + Send>(
    out: W,
    columns: &[(String, Column)],
    metadata: &[(String, String)],
) -> Result<(), ParquetError> {
    let fields = columns.iter().map(|(name, column)| {
        let (physical, logical) = column.physical();
        let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
        field.with_logical_type(logical).build().map(Arc::new)
    });
    let schema =
        Type::group_type_builder("wearwell").with_fields(fields.collect::<Result<_, _>>()?).build()?;
    let pairs = metadata.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(pairs.collect()))
        .build();
    let mut file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    columns.iter().try_for_each(|(_, column)| column.write(&mut group))?;
    group.close()?;
    file.close().map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use serde_json::{Value, json};

    #[test]
    fn written_columns_can_be_read_back() {
        let of = |values: Value| Column::of(&values.as_array().unwrap().iter().collect::<Vec<_>>());
        let columns = [
            ("count".to_owned(), of(json!([1, null, u64::MAX]))),
            ("number".to_owned(), of(json!([1, 2.5, null]))),
            ("truth".to_owned(), of(json!([true, null, false]))),
            ("text".to_owned(), of(json!(["a", {"b": 1}, null]))),
            ("nothing".to_owned(), of(json!([null, null, null]))),
        ];
        let mut bytes = Vec::new();
        write(&mut bytes, &columns, &[("key".into(), "value".into())]).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let metadata = reader.metadata().file_metadata();
        assert_eq!(
            metadata.key_value_metadata().unwrap()[0],
            KeyValue::new("key".into(), Some("value".into()))
        );
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        assert_eq!(rows[0], "{count: 1, number: 1.0, truth: true, text: \"a\", nothing: null}");
        assert_eq!(rows[1], "{count: null, number: 2.5, truth: null, text: \"{\"b\":1}\", nothing: null}");
        assert_eq!(
            rows[2],
            "{count: 18446744073709551615, number: null, truth: false, text: null, nothing: null}"
        );
    }
}
