//! Everything that natmeter knows about a technology, in one file each; a new one is a file and a
//! line of the list below. Callers open the files that a technology needs ([`Open`]).

#![forbid(unsafe_code)]

mod address_sharing;
mod axis;
mod axis_kind;
mod customers;
mod directions;
mod fragments;
mod functions;
mod gateway;
mod laboratory;
mod map;
mod nat;
mod outside;
mod parts;
mod prelude;
mod row;
mod rows;
mod softwire;
mod state;
mod table;
mod technology;
mod tester;
#[cfg(test)]
mod tests;
mod translator;
mod tunnel;

pub use axis::{
    AXES, Axis, DIRECTION, FOREGROUND, FRAME_SIZE, Fit, HASH_SIZE, MOST_BUCKETS, MOST_ENTRIES, MOST_SUBSCRIBERS,
    OF_TRAFFIC, RFC_8219, TABLE,
};
pub use axis_kind::{AxisKind, Numbers, Preset};
pub use directions::Directions;
pub use gateway::{Answers, GatewayBuild, Job, Links, TableLoad};
pub use ipv6_forwarding::ipv6_forwarding;
pub use laboratory::{is_allowed, is_for_laboratories, is_laboratory_prefix, may_be_requested, overlap};
pub use outside::{Outside, PortPool, Ports};
pub use parts::{Names, PLAYS, Plays};
pub use plane::nat44::config::{Mapping, share_of_a_worker};
pub use row::{CustomerRow, RuleRow};
pub use state::{State, TEST_TIMEOUT};
pub use table::Open;
pub use technology::{CloneTechnology, ListEntry, Technology};
pub use tester::{Flows, Setting, USUAL_DESTINATION_PORTS, USUAL_SOURCE_PORTS};
pub use translator::LowestMtu;

use plane::aftr::Aftr;
use plane::lw4o6::Bindings;
use plane::map::{MapEBr, MapECe, MapTBr, MapTCe};
use plane::nat44::Nat44;
use plane::nat46::Nat46;
use plane::nat64::Nat64;
use plane::nat66::Nat66;
use plane::translate::{Clat, Siit};
use plane::tunnel::{OneTunnel, Tunnel};
use plane::{Chain, Router6, Translate};

// In the order of lists and pages.
functions::technologies! {
    ipv6_forwarding: Ipv6Forwarding(Router6);
    nat44: Nat44(Nat44);
    siit: Siit(Translate<Siit>);
    nat64: Nat64(Nat64);
    nat46: Nat46(Nat46);
    nat66: Nat66(Nat66);
    xlat464: Clat(Translate<Clat>), Xlat464(Chain<Translate<Clat>, Nat64>);
    ds_lite: B4(Tunnel<OneTunnel>), Aftr(Aftr), DsLite(Chain<Tunnel<OneTunnel>, Aftr>);
    lw4o6: LwB4(Chain<Nat44, Tunnel<OneTunnel>>), LwAftr(Tunnel<Bindings>),
        Lw4o6(Chain<Chain<Nat44, Tunnel<OneTunnel>>, Tunnel<Bindings>>);
    map_e: MapECe(Chain<Nat44, Tunnel<MapECe>>), MapEBr(Tunnel<MapEBr>),
        MapE(Chain<Chain<Nat44, Tunnel<MapECe>>, Tunnel<MapEBr>>);
    map_t: MapTCe(Chain<Nat44, Translate<MapTCe>>), MapTBr(Translate<MapTBr>),
        MapT(Chain<Chain<Nat44, Translate<MapTCe>>, Translate<MapTBr>>);
}
