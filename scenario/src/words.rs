//! The words that the keys of `[traffic]` take.

use key::kind::Choice;
use method::{Direction, Order, ResponderTable};

/// Directions of phase 2.
pub(crate) const DIRECTIONS: &[Choice<Direction>] = &[
    ("both", Direction::Both, ""),
    ("forward", Direction::Forward, "Initiator to Responder only"),
    ("reverse", Direction::Reverse, "Responder to Initiator only"),
];

/// Orders in which the Responder uses its state table.
pub(crate) const ORDERS: &[Choice<Order>] = &[("random", Order::Random, ""), ("round-robin", Order::RoundRobin, "")];

/// What the Responder does with its state table in phase 2.
pub(crate) const TABLES: &[Choice<ResponderTable>] = &[
    ("keep", ResponderTable::Keep, "a frame with another outside address or port than in phase 1 is wrong"),
    ("update", ResponderTable::Update, "every right frame overwrites the four-tuple of its connection"),
];
