//! Creates the tasks of a phase: senders with their shares of its frames, and judges.

use crate::judge::{Judge, JudgePlan, Seen};
use crate::phase::Phase;
use crate::schedule::{Departures, Indices};
use crate::sender::{Sender, SenderPlan};
use crate::store::StateTable;
use method::Count;
use port::{Clock, Ticks};
use wire::{StreamId, Tag, View};

/// Creates the tasks of one phase.
pub(crate) struct TaskMaker<'a> {
    pub clock: Clock,
    pub view: &'a View,
    pub store: Option<&'a StateTable>,
    pub phase: &'a Phase,
    pub number: u16,
    pub learned_in: u16,
    pub seed: u64,
    pub give_up: Ticks,
    pub planned: &'a [Vec<Count>; 2],
    pub missing: Option<&'a Vec<u32>>,
}

impl<'a> TaskMaker<'a> {
    /// Creates the next sender of a side, if that side sends.
    pub(crate) fn sender(&self, left: bool, next: &mut u64) -> Option<Sender<'a>> {
        let planned = &self.planned[usize::from(!left)];
        let (which, of) = (*next, planned.len() as u64);
        if which >= of {
            return None;
        }
        *next += 1;
        let (template, order) = if left {
            (&self.view.left, self.phase.forward_order)
        } else {
            (&self.view.right, self.phase.reverse_order)
        };
        let Phase { rate, frames, direction, .. } = *self.phase;
        let (rate, frames) = (direction.pace(left, rate), direction.frames(left, frames));
        let seed = self.seed ^ (self.number as u64) << 32 ^ u64::from(left);
        let plan = SenderPlan {
            view: self.view,
            template,
            outer: self.store.filter(|_| template.needs_outer()).map(|s| (s, self.learned_in)),
            growth: self.view.growth(left),
            departures: Departures::shared(0, self.clock.frequency(), rate, frames, (which, of)),
            indices: match self.missing {
                Some(missing) => Indices::these(missing, which, of),
                None => Indices::new(order, self.phase.connections, seed, which, of),
            },
            tag: Tag {
                trial: self.number,
                stream: Tag::stream(self.phase.kind, !left),
                sender: which as u8,
                sequence: 0,
                index: 0,
            },
        };
        Some(Sender::new(plan, self.clock, self.give_up))
    }

    /// Creates the judge for frames that arrive at a side.
    pub(crate) fn judge(&self, at_left: bool, seen: &'a mut [Seen]) -> Judge<'a> {
        let expect = if at_left { &self.view.expect_left } else { &self.view.expect_right };
        let plan = JudgePlan {
            view: self.view,
            expect,
            learn: (self.phase.learn || self.phase.update) && !at_left,
            store: self.store.filter(|_| expect.needs_outer()).map(|s| (s, self.learned_in)),
            trial: self.number,
            id: StreamId::new(self.number, Tag::stream(self.phase.kind, at_left)),
            connections: self.view.connections(),
        };
        Judge::new(plan, self.clock, seen)
    }
}
