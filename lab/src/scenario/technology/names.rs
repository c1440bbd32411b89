//! What technologies and their parts are called. A file of its own, because results, reports and the published tables
//! are found by these names, whatever becomes of the parameters.

use super::{Plays, Technology};

/// What a technology and its parts are called: the name under which results are filed, and a few words.
struct Names {
    dual: (&'static str, &'static str),
    ce: (&'static str, &'static str),
    pe: (&'static str, &'static str),
    /// In the published tables.
    published: Option<&'static str>,
}

impl Names {
    /// Of what has no parts.
    const fn whole(name: &'static str, words: &'static str, published: Option<&'static str>) -> Names {
        Names { dual: (name, words), ce: (name, words), pe: (name, words), published }
    }

    fn of(&self, plays: Plays) -> (&'static str, &'static str) {
        match plays {
            Plays::Dual => self.dual,
            Plays::Ce => self.ce,
            Plays::Pe => self.pe,
        }
    }
}

static NAT44: Names = Names::whole("nat44", "stateful NAT44", Some("stateful NAT44"));
static SIIT: Names = Names::whole("siit", "SIIT, stateless", None);
static NAT64: Names = Names::whole("nat64", "stateful NAT64", Some("stateful NAT64"));
static NAT46: Names = Names::whole("nat46", "stateful NAT46", None);
static NAT66: Names = Names::whole("nat66", "stateful NAT66", None);
static XLAT464: Names = Names {
    dual: ("464xlat", "464XLAT, CLAT and PLAT"),
    ce: ("clat", "CLAT of 464XLAT, stateless"),
    pe: ("plat", "PLAT of 464XLAT"),
    published: Some("464XLAT"),
};
static DS_LITE: Names = Names {
    dual: ("ds-lite", "DS-Lite, B4 and AFTR"),
    ce: ("b4", "B4 of DS-Lite, stateless"),
    pe: ("aftr", "AFTR of DS-Lite"),
    published: None,
};
static LW4O6: Names = Names {
    dual: ("lw4o6", "lw4o6, lwB4 and lwAFTR"),
    ce: ("lwb4", "lwB4 of lw4o6"),
    pe: ("lwaftr", "lwAFTR of lw4o6, stateless"),
    published: None,
};
static MAP_E: Names = Names {
    dual: ("map-e", "MAP-E, CE and BR"),
    ce: ("map-e-ce", "CE of MAP-E"),
    pe: ("map-e-br", "BR of MAP-E, stateless"),
    published: None,
};
static MAP_T: Names = Names {
    dual: ("map-t", "MAP-T, CE and BR"),
    ce: ("map-t-ce", "CE of MAP-T"),
    pe: ("map-t-br", "BR of MAP-T, stateless"),
    published: Some("MAP-T"),
};

impl Technology {
    /// What it and its parts are called.
    fn names(&self) -> &'static Names {
        match self {
            Technology::Nat44 { .. } => &NAT44,
            Technology::Siit(_) => &SIIT,
            Technology::Nat64 { .. } => &NAT64,
            Technology::Nat46 { .. } => &NAT46,
            Technology::Nat66 { .. } => &NAT66,
            Technology::Xlat464 { .. } => &XLAT464,
            Technology::DsLite { .. } => &DS_LITE,
            Technology::Lw4o6(_) => &LW4O6,
            Technology::MapE { .. } => &MAP_E,
            Technology::MapT { .. } => &MAP_T,
        }
    }

    /// Its name, as in its table.
    pub fn name(&self) -> &'static str {
        self.names().dual.0
    }

    /// The name under which results of a part of it are filed.
    pub fn name_of(&self, plays: Plays) -> &'static str {
        self.names().of(plays).0
    }

    /// What a part of it is, in a few words.
    pub fn words(&self, plays: Plays) -> &'static str {
        self.names().of(plays).1
    }

    /// Which of its edges is played, as a scenario says it; none of what has no edges.
    pub fn edge_in_words(&self, plays: Plays) -> Option<&'static str> {
        let names = self.names();
        (names.ce.0 != names.pe.0).then_some(match plays {
            Plays::Dual => "both edges in a row (plays = \"dual\", the default)",
            Plays::Ce => "the customer edge alone (plays = \"ce\")",
            Plays::Pe => "the provider edge alone (plays = \"pe\")",
        })
    }

    /// The technology's name in the published tables, if it stands there.
    pub fn published(&self) -> Option<&'static str> {
        self.names().published
    }
}
