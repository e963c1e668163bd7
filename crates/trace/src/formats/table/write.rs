//! Writing requests as a table.

use super::super::fiu::write_digest;
use super::super::prelude::*;
use super::cells::Separator;
use super::columns::{Column, Columns, OpColumn, SizeColumn};

/// Maximum number of columns written.
const MAX_COLUMNS: usize = 1000;

/// Writes a table with the given columns; columns between them hold a dash.
pub struct TableWriter {
    columns: Columns,
    separator: char,
    /// Field and name of each column; or the reason why the table is impossible.
    column_order: Result<Vec<Option<(Field, String)>>, Reason>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Time,
    Op,
    Offset,
    Size,
    Volume,
    Hint,
    Digest,
    Filter,
}

impl TableWriter {
    /// Returns a writer of a table with these columns, separated by commas by default.
    pub fn new(columns: Columns, separator: Option<Separator>) -> Self {
        let separator = match separator {
            Some(Separator::Byte(byte)) => char::from(byte),
            Some(Separator::Blanks) => ' ',
            None => ',',
        };
        let column_order = order_columns(&columns);
        TableWriter { columns, separator, column_order }
    }

    fn cell(&self, field: Field, request: &Request, digests: &[Digest]) -> Result<String, Reason> {
        let columns = &self.columns;
        Ok(match field {
            Field::Time => {
                columns.time.as_ref().map_or_else(String::new, |(_, unit)| unit.text(request.time_ns))
            }
            Field::Op => match &columns.op {
                OpColumn::Words(_, words) => {
                    let word = words.word(request.op);
                    word.ok_or_else(|| format!("`columns` has no word for {:?}", request.op))?.to_owned()
                }
                OpColumn::Always(_) => String::new(),
            },
            Field::Offset => in_units(request.offset_bytes, columns.offset.1)?,
            Field::Size => match columns.size {
                SizeColumn::Column(_, unit) => in_units(request.length_bytes, unit)?,
                SizeColumn::Always(_) => String::new(),
            },
            Field::Volume => request.volume.to_string(),
            Field::Hint => request.hint.to_string(),
            Field::Digest if digests.is_empty() => "".to_owned(),
            Field::Digest => {
                let mut text = Vec::new();
                digests.iter().for_each(|digest| write_digest(digest, &mut text));
                String::from_utf8(text).expect("hexadecimal digits")
            }
            Field::Filter => {
                columns.row_filter.as_ref().map_or_else(String::new, |(_, values)| values[0].clone())
            }
        })
    }

    /// Refuses requests that would be read back differently.
    fn check(&self, request: &Request, content: RequestContent<'_>) -> Result<(), Reason> {
        let columns = &self.columns;
        match columns.op {
            OpColumn::Always(op) if op != request.op => {
                return Err(format!("op=={op:?} is all that it holds").into());
            }
            _ => {}
        }
        match columns.size {
            SizeColumn::Always(bytes) if request.op != Op::Flush && bytes != request.length_bytes => {
                return Err(format!("size=={bytes} is all that it holds").into());
            }
            _ => {}
        }
        if request.op == Op::Flush && (request.offset_bytes, request.length_bytes) != (0, 0) {
            return Err("a flush has neither offset nor length".into());
        }
        if columns.volume.is_none() {
            require_no_volume(request)?;
        }
        let digest_bytes = columns.digest.as_ref().map(|(_, bytes)| *bytes);
        if digest_bytes.is_some_and(|bytes| content.digest_bytes != bytes && !content.digests.is_empty()) {
            return Err("digests cover another number of bytes than `columns` says".into());
        }
        if columns.piece_bytes.is_some() {
            return Err("rows that are pieces of requests can only be read".into());
        }
        Ok(())
    }
}

fn in_units(bytes: u64, unit: u64) -> Result<String, Reason> {
    match bytes % unit {
        0 => Ok((bytes / unit).to_string()),
        _ => Err(format!("{bytes} bytes are no multiple of {unit}").into()),
    }
}

/// Orders the columns: those with numbers at their position, the other columns in the gaps.
fn order_columns(columns: &Columns) -> Result<Vec<Option<(Field, String)>>, Reason> {
    let fields = [
        (Field::Time, "time", columns.time.as_ref().map(|(column, _)| column)),
        (
            Field::Op,
            "op",
            match &columns.op {
                OpColumn::Words(column, _) => Some(column),
                OpColumn::Always(_) => None,
            },
        ),
        (Field::Offset, "offset", Some(&columns.offset.0)),
        (
            Field::Size,
            "size",
            match &columns.size {
                SizeColumn::Column(column, _) => Some(column),
                SizeColumn::Always(_) => None,
            },
        ),
        (Field::Volume, "volume", columns.volume.as_ref()),
        (Field::Hint, "hint", columns.hint.as_ref()),
        (Field::Digest, "digest", columns.digest.as_ref().map(|(column, _)| column)),
        (Field::Filter, "where", columns.row_filter.as_ref().map(|(column, _)| column)),
    ];
    let mut column_order: Vec<Option<(Field, String)>> = Vec::new();
    for (field, name, column) in &fields {
        match column {
            Some(Column::FromEnd(_)) => return Err("columns counted from the end can only be read".into()),
            Some(Column::Number(at)) if *at >= MAX_COLUMNS => {
                return Err(format!("at most {MAX_COLUMNS} columns are written").into());
            }
            Some(Column::Number(at)) => {
                column_order.resize(column_order.len().max(at + 1), None);
                if column_order[*at].replace((*field, (*name).to_owned())).is_some() {
                    return Err(format!("column {} would hold two fields", at + 1).into());
                }
            }
            _ => {}
        }
    }
    for (field, _, column) in fields {
        let Some(Column::Name(name)) = column else { continue };
        if column_order.iter().flatten().any(|(_, other)| other == name) {
            return Err(format!("column `{name}` would hold two fields").into());
        }
        let free = column_order.iter().position(Option::is_none);
        match free {
            Some(at) => column_order[at] = Some((field, name.clone())),
            None => column_order.push(Some((field, name.clone()))),
        }
    }
    Ok(column_order)
}

impl Encoder for TableWriter {
    fn begin(&mut self, out: &mut Vec<u8>) {
        let Some(column_order) = self.column_order.as_ref().ok().filter(|_| self.columns.has_names()) else {
            return;
        };
        let names: Vec<_> =
            column_order.iter().map(|column| column.as_ref().map_or("-", |(_, name)| name)).collect();
        put!(out, "{}\n", names.join(&self.separator.to_string()));
    }

    fn encode(
        &mut self,
        request: &Request,
        content: RequestContent<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Reason> {
        let column_order = self.column_order.as_ref().map_err(Clone::clone)?;
        self.check(request, content)?;
        for (at, column) in column_order.iter().enumerate() {
            if at > 0 {
                out.extend_from_slice(self.separator.encode_utf8(&mut [0; 4]).as_bytes());
            }
            match column {
                Some((field, _)) => {
                    let cell = self.cell(*field, request, content.digests)?;
                    if cell.is_empty() && self.separator == ' ' {
                        return Err("an empty column cannot stand between blanks".into());
                    }
                    out.extend_from_slice(cell.as_bytes());
                }
                None => out.push(b'-'),
            }
        }
        out.push(b'\n');
        Ok(())
    }
}
