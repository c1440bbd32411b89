//! Writes a SQLite database file, by the description of the format (sqlite.org/fileformat2.html, version 3). Rows are only
//! appended, so each table is a B-tree that is written from its leaves to its root, and pages are written once, in order.
//!
//! The library of SQLite would make the static program a twentieth larger and need a C compiler for every target. The tests
//! read the files with that library.

use std::io::{self, Seek, SeekFrom, Write};

/// Octets of a page.
const PAGE: usize = 16_384;
/// Octets of the file's header, before the header of page 1.
const FILE_HEADER: usize = 100;
/// The beginning of every database file.
pub(super) const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Position of the application's number in the file's header.
pub(super) const APPLICATION_AT: usize = 68;
/// Octets of a payload above which a part of it moves to overflow pages, in leaves of tables (section 1.6).
const LARGEST_LOCAL: usize = PAGE - 35;
/// Octets that stay in the leaf then, at least.
const LEAST_LOCAL: usize = (PAGE - 12) * 32 / 255 - 23;
/// Octets of a payload in an overflow page.
const OVERFLOW: usize = PAGE - 4;
/// The page with the octets that SQLite locks; it holds no data.
const LOCK_PAGE: u32 = (0x4000_0000 / PAGE) as u32 + 1;
/// Children of an interior page; each needs at most 15 octets.
const CHILDREN: usize = (PAGE - 12) / 15;
/// The version of SQLite whose format this is, as it writes it into the file.
const SQLITE_VERSION: u32 = 3_045_000;
const LEAF: u8 = 0x0d;
const INTERIOR: u8 = 0x05;

/// A value of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    /// No value.
    Null,
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// A text.
    Text(&'a str),
}

impl From<u64> for Value<'_> {
    fn from(value: u64) -> Self {
        Value::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Value::Integer(value)
    }
}

impl From<u32> for Value<'_> {
    fn from(value: u32) -> Self {
        Value::Integer(value.into())
    }
}

impl From<usize> for Value<'_> {
    fn from(value: usize) -> Self {
        Value::from(value as u64)
    }
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Value::Real(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::Text(text)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Value::Text(text)
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

/// Rows that are not in a table yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    payloads: Vec<u8>,
    lengths: Vec<u32>,
}

impl Rows {
    /// Adds a row: the columns after the first one, which is the number of the row.
    pub(super) fn push(&mut self, columns: &[Value]) {
        let before = self.payloads.len();
        encode(columns, &mut self.payloads);
        self.lengths.push((self.payloads.len() - before) as u32);
    }

    /// Returns how many there are.
    pub(super) fn len(&self) -> usize {
        self.lengths.len()
    }
}

/// An entry of the schema: a table or a view.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Its name.
    pub(super) name: &'static str,
    /// The statement that creates it.
    pub(super) sql: &'static str,
}

/// A table under construction.
#[derive(Debug, Default)]
struct Table {
    cells: Vec<u8>,
    lengths: Vec<usize>,
    /// Pages that are written, each with the number of its last row.
    pages: Vec<(u32, u64)>,
    rows: u64,
}

/// A database under construction.
#[derive(Debug)]
pub(super) struct Database<W> {
    out: W,
    next: u32,
    schema: Vec<Entry>,
    tables: Vec<Table>,
}

impl<W: Write + Seek> Database<W> {
    /// Begins a database with these tables. The first column of each is `id INTEGER PRIMARY KEY`.
    pub(super) fn new(mut out: W, schema: &[Entry]) -> io::Result<Database<W>> {
        // The first page is written last: it names the roots.
        out.write_all(&[0; PAGE])?;
        let tables = schema.iter().map(|_| Table::default()).collect();
        Ok(Database { out, next: 2, schema: schema.to_vec(), tables })
    }

    /// Returns the number of the next row of a table.
    pub(super) fn next_row(&self, table: usize) -> u64 {
        self.tables[table].rows + 1
    }

    /// Appends rows to a table.
    pub(super) fn append(&mut self, table: usize, rows: &Rows) -> io::Result<()> {
        let mut at = 0;
        for &length in &rows.lengths {
            let end = at + length as usize;
            self.append_payload(table, &rows.payloads[at..end])?;
            at = end;
        }
        Ok(())
    }

    fn append_payload(&mut self, table: usize, payload: &[u8]) -> io::Result<()> {
        let rowid = self.next_row(table);
        let mut cell = Vec::with_capacity(payload.len().min(PAGE) + 18);
        varint(payload.len() as u64, &mut cell);
        varint(rowid, &mut cell);
        let local = local_part(payload.len());
        cell.extend_from_slice(&payload[..local]);
        if local < payload.len() {
            let first = self.overflow(&payload[local..])?;
            cell.extend_from_slice(&first.to_be_bytes());
        }
        let used = |table: &Table| 8 + 2 * (table.lengths.len() + 1) + table.cells.len() + cell.len();
        if used(&self.tables[table]) > PAGE {
            self.flush(table)?;
        }
        let table = &mut self.tables[table];
        table.lengths.push(cell.len());
        table.cells.extend_from_slice(&cell);
        table.rows = rowid;
        Ok(())
    }

    /// Writes the end of a payload, and returns its first page. Each page names the next, so the last one is written first.
    fn overflow(&mut self, rest: &[u8]) -> io::Result<u32> {
        let mut next = 0u32;
        for chunk in rest.chunks(OVERFLOW).rev() {
            let mut page = next.to_be_bytes().to_vec();
            page.extend_from_slice(chunk);
            next = self.write_page(page)?;
        }
        Ok(next)
    }

    /// Writes the leaf of a table.
    fn flush(&mut self, table: usize) -> io::Result<()> {
        let Table { cells, lengths, rows, .. } = &mut self.tables[table];
        let (cells, lengths, rows) = (std::mem::take(cells), std::mem::take(lengths), *rows);
        let page = self.write_page(b_tree_page(LEAF, None, &cells, &lengths, 0))?;
        self.tables[table].pages.push((page, rows));
        Ok(())
    }

    fn write_page(&mut self, mut page: Vec<u8>) -> io::Result<u32> {
        if self.next == LOCK_PAGE {
            self.out.write_all(&[0; PAGE])?;
            self.next += 1;
        }
        page.resize(PAGE, 0);
        self.out.write_all(&page)?;
        self.next += 1;
        Ok(self.next - 1)
    }

    /// Writes what is left and the interior pages of a table, and returns its root.
    fn root(&mut self, table: usize) -> io::Result<u32> {
        if !self.tables[table].lengths.is_empty() || self.tables[table].pages.is_empty() {
            self.flush(table)?;
        }
        let mut level = std::mem::take(&mut self.tables[table].pages);
        while level.len() > 1 {
            // Equal shares, so that no page has a single child.
            let share = level.len().div_ceil(level.len().div_ceil(CHILDREN));
            let mut above = Vec::new();
            for children in level.chunks(share) {
                above.push((self.interior(children)?, children[children.len() - 1].1));
            }
            level = above;
        }
        Ok(level[0].0)
    }

    fn interior(&mut self, children: &[(u32, u64)]) -> io::Result<u32> {
        let (mut cells, mut lengths) = (Vec::new(), Vec::new());
        let (last, others) = children.split_last().unwrap_or((&(0, 0), &[]));
        for (page, key) in others {
            let before = cells.len();
            cells.extend_from_slice(&page.to_be_bytes());
            varint(*key, &mut cells);
            lengths.push(cells.len() - before);
        }
        self.write_page(b_tree_page(INTERIOR, Some(last.0), &cells, &lengths, 0))
    }

    /// Completes the database with these views, and returns its file. `application` is the number by which programs
    /// recognise it, `version` that of its tables.
    pub(super) fn finish(mut self, views: &[Entry], application: u32, version: u32) -> io::Result<W> {
        let (mut cells, mut lengths) = (Vec::new(), Vec::new());
        let roots = (0..self.tables.len()).map(|table| self.root(table)).collect::<io::Result<Vec<u32>>>()?;
        let tables = self.schema.iter().zip(&roots).map(|(entry, root)| ("table", entry, *root));
        for ((kind, entry, root), rowid) in tables.chain(views.iter().map(|view| ("view", view, 0))).zip(1..) {
            let mut payload = Vec::new();
            let Entry { name, sql } = *entry;
            encode_all(&[kind.into(), name.into(), name.into(), root.into(), sql.into()], &mut payload);
            let before = cells.len();
            varint(payload.len() as u64, &mut cells);
            varint(rowid, &mut cells);
            cells.extend_from_slice(&payload);
            lengths.push(cells.len() - before);
        }
        let mut page = b_tree_page(LEAF, None, &cells, &lengths, FILE_HEADER);
        page[..FILE_HEADER].copy_from_slice(&file_header(self.next - 1, application, version));
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&page)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// The header of the file (section 1.3).
fn file_header(pages: u32, application: u32, version: u32) -> [u8; FILE_HEADER] {
    let mut header = [0; FILE_HEADER];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, MAGIC);
    put(16, &(PAGE as u16).to_be_bytes());
    // A rollback journal; no reserved octets; shares that are constants.
    put(18, &[1, 1, 0, 64, 32, 32]);
    let change_counter = 1u32.to_be_bytes();
    put(24, &change_counter);
    put(28, &pages.to_be_bytes());
    // Schema cookie; schema format 4; UTF-8.
    put(40, &1u32.to_be_bytes());
    put(44, &4u32.to_be_bytes());
    put(56, &1u32.to_be_bytes());
    put(60, &version.to_be_bytes());
    put(APPLICATION_AT, &application.to_be_bytes());
    put(92, &change_counter);
    put(96, &SQLITE_VERSION.to_be_bytes());
    header
}

/// A page of a B-tree (section 1.6) whose header is at a position: cells from the end of the page, in reverse order.
fn b_tree_page(kind: u8, rightmost: Option<u32>, cells: &[u8], lengths: &[usize], at: usize) -> Vec<u8> {
    let mut page = vec![0; PAGE];
    let start = PAGE - cells.len();
    page[at] = kind;
    page[at + 3..at + 5].copy_from_slice(&(lengths.len() as u16).to_be_bytes());
    page[at + 5..at + 7].copy_from_slice(&(start as u16).to_be_bytes());
    let mut pointers = at + 8;
    if let Some(page_number) = rightmost {
        page[pointers..pointers + 4].copy_from_slice(&page_number.to_be_bytes());
        pointers += 4;
    }
    let (mut from, mut to) = (0, PAGE);
    for (i, &length) in lengths.iter().enumerate() {
        to -= length;
        page[to..to + length].copy_from_slice(&cells[from..from + length]);
        page[pointers + 2 * i..pointers + 2 * i + 2].copy_from_slice(&(to as u16).to_be_bytes());
        from += length;
    }
    page
}

/// Octets of a payload that stay in a leaf (section 1.6).
fn local_part(length: usize) -> usize {
    if length <= LARGEST_LOCAL {
        return length;
    }
    let local = LEAST_LOCAL + (length - LEAST_LOCAL) % OVERFLOW;
    if local <= LARGEST_LOCAL { local } else { LEAST_LOCAL }
}

/// A variable-length integer (section 1.6): seven bits an octet, the highest first; a ninth octet has eight.
fn varint(value: u64, out: &mut Vec<u8>) {
    if value >> 56 != 0 {
        out.extend((0..8).map(|i| (value >> (57 - 7 * i)) as u8 | 0x80));
        out.push(value as u8);
        return;
    }
    let octets = (64 - value.leading_zeros()).div_ceil(7).max(1);
    out.extend((0..octets).rev().map(|i| {
        let more = if i > 0 { 0x80 } else { 0 };
        (value >> (7 * i)) as u8 & 0x7f | more
    }));
}

/// A record (section 2.1) whose first column is the number of the row, which the record holds as NULL.
fn encode(columns: &[Value], out: &mut Vec<u8>) {
    let mut all = Vec::with_capacity(columns.len() + 1);
    all.push(Value::Null);
    all.extend_from_slice(columns);
    encode_all(&all, out);
}

fn encode_all(columns: &[Value], out: &mut Vec<u8>) {
    let mut types = Vec::with_capacity(columns.len() + 1);
    for column in columns {
        varint(serial_type(column), &mut types);
    }
    // The length counts its own octets; one or two are enough for hundreds of columns.
    let own = if types.len() < 127 { 1 } else { 2 };
    varint((types.len() + own) as u64, out);
    out.extend_from_slice(&types);
    for column in columns {
        match *column {
            Value::Null => {}
            Value::Integer(value) => {
                let octets = integer_octets(value);
                out.extend_from_slice(&value.to_be_bytes()[8 - octets..]);
            }
            Value::Real(value) => out.extend_from_slice(&value.to_be_bytes()),
            Value::Text(text) => out.extend_from_slice(text.as_bytes()),
        }
    }
}

/// Octets of a whole number: 1, 2, 3, 4, 6 or 8; none for 0 and 1, which are types of their own.
fn integer_octets(value: i64) -> usize {
    let fits = |bits: u32| (value << (64 - bits)) >> (64 - bits) == value;
    match value {
        0 | 1 => 0,
        _ => [8, 16, 24, 32, 48].into_iter().find(|bits| fits(*bits)).unwrap_or(64) as usize / 8,
    }
}

fn serial_type(value: &Value) -> u64 {
    match *value {
        Value::Null => 0,
        Value::Integer(value @ (0 | 1)) => 8 + value.cast_unsigned(),
        Value::Integer(value) => match integer_octets(value) {
            6 => 5,
            8 => 6,
            octets => octets as u64,
        },
        Value::Real(_) => 7,
        Value::Text(text) => 13 + 2 * text.len() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Examples of section 1.6 and the ends of each length.
    #[test]
    fn variable_length_integers() {
        let of = |value| {
            let mut out = Vec::new();
            varint(value, &mut out);
            out
        };
        assert_eq!([of(0), of(127)], [vec![0], vec![127]]);
        assert_eq!([of(128), of(16_383)], [vec![0x81, 0], vec![0xff, 0x7f]]);
        assert_eq!(of(1 << 55), [0xc0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0]);
        assert_eq!(of(u64::MAX), [0xff; 9]);
        assert_eq!(of(1 << 56), [0x80, 0xc0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0]);
    }

    #[test]
    fn whole_numbers_have_the_shortest_type() {
        let types = [0, 1, -1, 127, 128, -32_769, 1 << 31, 1 << 47, i64::MIN].map(|n| serial_type(&Value::Integer(n)));
        assert_eq!(types, [8, 9, 1, 1, 2, 3, 5, 6, 6]);
    }

    /// Two levels of interior pages and payloads of every length about the limits, as the library of SQLite reads them.
    #[test]
    fn sqlite_reads_large_tables_and_long_texts() {
        let schema = [
            Entry { name: "small", sql: "CREATE TABLE small(id INTEGER PRIMARY KEY, n INTEGER, r REAL)" },
            Entry { name: "large", sql: "CREATE TABLE large(id INTEGER PRIMARY KEY, length INTEGER, text TEXT)" },
            Entry { name: "none", sql: "CREATE TABLE none(id INTEGER PRIMARY KEY, n INTEGER)" },
        ];
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut database = Database::new(io::BufWriter::new(file.reopen().unwrap()), &schema).unwrap();
        let text = "x".repeat(70_000);
        let lengths = [0, 5_000, LEAST_LOCAL, LARGEST_LOCAL - 12, LARGEST_LOCAL + 2, PAGE, 2 * PAGE + 7, text.len()];
        let around = lengths.into_iter().flat_map(|n| n.saturating_sub(9)..(n + 9).min(text.len() + 1));
        let around: Vec<usize> = around.chain(std::iter::repeat_n(8_000, 2_400)).collect();
        let numbers: Vec<i64> = (0..30_000).map(|n| (n - 15_000) * (n % 64) * 1_000_000_007).collect();
        let (mut small, mut large) = (Rows::default(), Rows::default());
        for &n in &numbers {
            small.push(&[n.into(), (n as f64 / 3.0).into()]);
        }
        for &n in &around {
            large.push(&[n.into(), text[..n].into()]);
        }
        database.append(0, &small).unwrap();
        database.append(1, &large).unwrap();
        let view = Entry { name: "both", sql: "CREATE VIEW both AS SELECT count(*) AS n FROM small, none" };
        database.finish(&[view], 7, 3).unwrap();
        let connection = rusqlite::Connection::open(file.path()).unwrap();
        let one = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        let counted = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap() as usize;
        let check: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!((check.as_str(), one("PRAGMA application_id"), one("PRAGMA user_version")), ("ok", 7, 3));
        assert_eq!(one("SELECT count(*) FROM small"), 30_000);
        assert_eq!(one("SELECT sum(n) FROM small"), numbers.iter().sum::<i64>());
        assert_eq!(one("SELECT count(*) FROM small WHERE r = n / 3.0"), 30_000);
        assert_eq!(counted("SELECT count(*) FROM large WHERE length(text) = length"), around.len());
        assert_eq!(one("SELECT id FROM large WHERE id = 2000"), 2_000);
        assert_eq!(one("SELECT n FROM both"), 0);
    }
}
