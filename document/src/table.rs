//! Tables of typed cells, with the bars that show their medians. Formats print them.

use crate::quantity::{Bound, Quantity};
use std::fmt::{self, Display, Formatter};

/// One cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Cell {
    /// No value: printed as a dash.
    #[default]
    Nothing,
    /// Words, or a number that nothing bounds and that is printed as it is.
    Words(String),
    /// A value.
    Value(Quantity),
    /// Several values.
    Values(Vec<Quantity>),
    /// Numbers of notes below the table.
    Notes(Vec<usize>),
}

impl Cell {
    /// Whether the cell has no value.
    pub fn is_missing(&self) -> bool {
        *self == Cell::Nothing
    }

    /// Whether nothing is printed but a dash at most.
    pub fn is_blank(&self) -> bool {
        match self {
            Cell::Nothing => true,
            Cell::Words(words) => words.is_empty(),
            Cell::Value(_) => false,
            Cell::Values(values) => values.is_empty(),
            Cell::Notes(notes) => notes.is_empty(),
        }
    }

    /// Bound of a single value; [`Bound::Exact`] for all other cells.
    pub fn bound(&self) -> Bound {
        if let Cell::Value(quantity) = self { quantity.bound } else { Bound::Exact }
    }
}

impl Display for Cell {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let joined = |texts: Vec<String>, by: &str| texts.join(by);
        match self {
            Cell::Nothing => f.write_str("–"),
            Cell::Words(words) => f.write_str(words),
            Cell::Value(quantity) => quantity.fmt(f),
            Cell::Values(values) => f.write_str(&joined(values.iter().map(Quantity::to_string).collect(), ", ")),
            Cell::Notes(notes) => f.write_str(&joined(notes.iter().map(|note| format!("[{note}]")).collect(), " ")),
        }
    }
}

impl From<String> for Cell {
    fn from(words: String) -> Cell {
        Cell::Words(words)
    }
}

impl From<&str> for Cell {
    fn from(words: &str) -> Cell {
        Cell::Words(words.to_owned())
    }
}

impl From<Quantity> for Cell {
    fn from(quantity: Quantity) -> Cell {
        Cell::Value(quantity)
    }
}

impl<C: Into<Cell>> From<Option<C>> for Cell {
    fn from(cell: Option<C>) -> Cell {
        cell.map_or(Cell::Nothing, Into::into)
    }
}

/// A term that tables use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// Name as tables print it.
    pub name: &'static str,
    /// Meaning of the term.
    pub meaning: &'static str,
}

/// Role of a row, for tables that print a part of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowRole {
    /// A row without another role.
    #[default]
    Usual,
    /// The row that most readers look for.
    Main,
    /// A further statistic of the repetitions.
    Statistic,
    /// A condition that the title of a table names, too.
    Titled,
    /// The number of repetitions.
    Repetitions,
}

/// A row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Name of the row.
    pub label: String,
    /// One cell a column.
    pub cells: Vec<Cell>,
    /// Role of the row.
    pub role: RowRole,
    /// Term that explains the name.
    pub term: Option<&'static Term>,
}

impl Row {
    /// Gives the row a role.
    pub fn with_role(self, role: RowRole) -> Row {
        Row { role, ..self }
    }

    /// Explains the name by its term.
    pub fn explained(self, term: &'static Term) -> Row {
        Row { term: Some(term), ..self }
    }

    /// Whether it is the row that most readers look for.
    pub fn is_main(&self) -> bool {
        self.role == RowRole::Main
    }

    /// Whether any cell of the row is not missing.
    pub fn has_value(&self) -> bool {
        self.cells.iter().any(|cell| !cell.is_missing())
    }
}

/// A row of cells.
pub fn row<C: Into<Cell>>(label: impl Into<String>, cells: impl IntoIterator<Item = C>) -> Row {
    Row { label: label.into(), cells: cells.into_iter().map(Into::into).collect(), ..Row::default() }
}

/// A bar as long as the median of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct MedianBar {
    /// Name of the column.
    pub label: String,
    /// Length of the bar; 0 if there is none.
    pub length: f64,
    /// Share of the longest bar; `None` without a value.
    pub share: Option<f64>,
    /// Value with unit.
    pub value: Cell,
}

/// The rows of one metric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// Metric and unit.
    pub title: String,
    /// Rows of the group.
    pub rows: Vec<Row>,
    /// One bar a column. No bar where there is no value.
    pub bars: Vec<MedianBar>,
}

/// The head of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// Name of the column.
    pub name: String,
    /// Whether the cells are words and no numbers.
    pub is_words: bool,
}

impl Column {
    /// A column of words.
    pub fn of_words(name: &str) -> Column {
        Column { name: name.to_owned(), is_words: true }
    }
}

impl From<String> for Column {
    fn from(name: String) -> Column {
        Column { name, is_words: false }
    }
}

impl From<&str> for Column {
    fn from(name: &str) -> Column {
        Column::from(name.to_owned())
    }
}

/// One table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Subject of the table.
    pub title: String,
    /// First line: name of the axis.
    pub axis: &'static str,
    /// Columns of values.
    pub columns: Vec<Column>,
    /// The rows above the first group.
    pub parameters: Vec<Row>,
    /// One group a metric.
    pub groups: Vec<Group>,
    /// What `[1]`, `[2]`, … mean.
    pub notes: Vec<String>,
}

impl Table {
    /// A table without rows.
    pub fn new<C: Into<Column>>(
        title: impl Into<String>,
        axis: &'static str,
        columns: impl IntoIterator<Item = C>,
    ) -> Table {
        let columns = columns.into_iter().map(Into::into).collect();
        Table { title: title.into(), axis, columns, ..Table::default() }
    }

    /// Adds rows that have no group.
    pub fn with_parameters(self, rows: impl IntoIterator<Item = Row>) -> Table {
        Table { parameters: rows.into_iter().collect(), ..self }
    }

    /// All rows.
    pub fn all_rows(&self) -> impl Iterator<Item = &Row> {
        self.parameters.iter().chain(self.groups.iter().flat_map(|group| &group.rows))
    }
}
