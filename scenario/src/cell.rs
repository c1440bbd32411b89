//! A part of the matrix: `3/8` is the third of eight parts of its points. `natmeter merge` joins their runs.

use schemars::JsonSchema;
use std::fmt;
use std::str::FromStr;

/// A part of the points of a matrix. As text: `NUMBER/OF`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub struct Cell {
    number: u32,
    of: u32,
}

impl Cell {
    /// All parts of a matrix with this number of parts.
    pub fn all(of: u32) -> impl Iterator<Item = Cell> {
        (1..=of).map(move |number| Cell { number, of })
    }

    pub fn number(self) -> u32 {
        self.number
    }

    pub fn of(self) -> u32 {
        self.of
    }

    /// Whether a point, by its number from 0, is in it; neighbours are in the same part.
    pub fn has(self, point: usize, points: usize) -> bool {
        point as u64 * u64::from(self.of) / (points as u64).max(1) + 1 == u64::from(self.number)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Cell {
    type Err = String;

    fn from_str(text: &str) -> Result<Cell, String> {
        let numbers = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Cell { number, of }),
            _ => Err(format!("`{text}` is not a cell: write NUMBER/OF, such as 3/8, from 1/8 to 8/8")),
        }
    }
}

method::as_text!(Cell);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_share_the_points() {
        for (points, of) in [(6, 6), (7, 3), (10, 4), (100, 7)] {
            let parts: Vec<Vec<usize>> =
                Cell::all(of).map(|cell| (0..points).filter(|&point| cell.has(point, points)).collect()).collect();
            assert_eq!(parts.concat(), (0..points).collect::<Vec<_>>());
            let sizes = parts.iter().map(Vec::len);
            assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1, "{parts:?}");
        }
    }

    #[test]
    fn only_parts_of_a_whole_are_cells() {
        for text in ["", "3", "0/8", "9/8", "1/0", "a/b", "1/8/9", "-1/8"] {
            assert!(text.parse::<Cell>().is_err(), "{text}");
        }
        assert_eq!("8/8".parse::<Cell>().unwrap().to_string(), "8/8");
    }
}
