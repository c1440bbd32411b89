//! The parts of technologies, and their names.

use key::kind::Choice;

/// Part of a technology.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plays {
    /// Both edges in a row: IPv4 on both sides.
    Dual,
    /// Customer edge: IPv4 on the left, IPv6 on the right.
    Ce,
    /// Provider edge: IPv6 on the left, IPv4 on the right.
    #[default]
    Pe,
}

impl Plays {
    /// All parts.
    pub const ALL: &[Plays] = &[Plays::Dual, Plays::Ce, Plays::Pe];
}

/// The words for [`Plays`].
pub const PLAYS: &[Choice<Plays>] = &[
    ("dual", Plays::Dual, "both edges in a row"),
    ("ce", Plays::Ce, "the customer edge alone"),
    ("pe", Plays::Pe, "the provider edge alone"),
];

/// Results are filed under these names, so they must stay the same.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    dual: (&'static str, &'static str),
    ce: (&'static str, &'static str),
    pe: (&'static str, &'static str),
    /// Name in the published tables.
    pub published: Option<&'static str>,
}

impl Names {
    /// Names of a technology without parts.
    pub const fn whole(name: &'static str, words: &'static str) -> Names {
        Names { dual: (name, words), ce: (name, words), pe: (name, words), published: None }
    }

    /// Names with both edges, customer edge and provider edge.
    pub const fn edges(
        dual: (&'static str, &'static str),
        ce: (&'static str, &'static str),
        pe: (&'static str, &'static str),
    ) -> Names {
        Names { dual, ce, pe, published: None }
    }

    /// Adds the name in the published tables.
    #[must_use]
    pub const fn published_as(self, name: &'static str) -> Names {
        Names { published: Some(name), ..self }
    }

    /// The name of a part.
    pub fn name(&self, plays: Plays) -> &'static str {
        self.of(plays).0
    }

    /// A part in a few words.
    pub fn words(&self, plays: Plays) -> &'static str {
        self.of(plays).1
    }

    /// Whether the technology has two edges.
    pub fn has_edges(&self) -> bool {
        self.ce.0 != self.pe.0
    }

    /// The edges, in the words of a scenario, if any.
    pub fn edge_in_words(&self, plays: Plays) -> Option<&'static str> {
        self.has_edges().then_some(match plays {
            Plays::Dual => "both edges in a row (plays = \"dual\", the default)",
            Plays::Ce => "the customer edge alone (plays = \"ce\")",
            Plays::Pe => "the provider edge alone (plays = \"pe\")",
        })
    }

    fn of(&self, plays: Plays) -> (&'static str, &'static str) {
        match plays {
            Plays::Dual => self.dual,
            Plays::Ce => self.ce,
            Plays::Pe => self.pe,
        }
    }
}
