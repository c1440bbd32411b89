//! Common imports of the files of technologies.

pub(crate) use crate::Functions;
pub(crate) use crate::axis::Fit;
pub(crate) use crate::fragments::FragmentStore;
pub(crate) use crate::gateway::{Answers, GatewayBuild, Job, why};
pub(crate) use crate::nat::Inside;
pub(crate) use crate::outside::Outside;
pub(crate) use crate::parts::{Names, Plays};
pub(crate) use crate::row::CustomerRow;
pub(crate) use crate::state::State;
pub(crate) use crate::table::Open;
pub(crate) use crate::technology::{ListEntry, Technology};
pub(crate) use crate::tester::{Flows, Setting};
pub(crate) use crate::translator::embeds_nothing;
pub(crate) use key::kind::{list, maybe, prefix6};
pub(crate) use key::{Chapter, Fault, Section, Table, computed, needed, or};
pub(crate) use plane::view::{TranslatedEnds, ce, pe};
pub(crate) use plane::{Side, Steering};
pub(crate) use wire::{Prefix6, View};
