//! Creates the tasks of a phase.

use crate::churn::{ChurnOrder, ChurnPlan};
use crate::expected::{JudgePlan, Work};
use crate::findings::Findings;
use crate::indices::Indices;
use crate::judge::{Arrivals, Judge};
use crate::native::{NativeJudge, NativeSender};
use crate::observe::{Extra, FrameStamps};
use crate::phase::Phase;
use crate::pieces::RatePiece;
use crate::sender::{Edges, LaterSchedule, Sender, SenderPlan};
use crate::store::StateTable;
use method::{Count, Order};
use port::{Clock, Ticks};
use wire::{Background, FramePurpose, Tag, View};

/// Salt for another order than in phase 1.
const BY_POPULARITY: u64 = 0x706f_7075_6c61_7221;

/// Salt for another order than that of connections.
const NATIVE: u64 = 0x6e61_7469_7665_2136;

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
    pub churn: Option<ChurnPlan>,
    pub extra: Extra,
    /// Left to Right and Right to Left.
    pub rows: [Option<&'a FrameStamps>; 2],
}

impl<'a> TaskMaker<'a> {
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
        let mut parts = RatePiece::all(self.phase, &self.extra.pieces, left);
        let first = parts.next()?;
        let seed = self.seed ^ (self.number as u64) << 32 ^ u64::from(left);
        let plan = SenderPlan {
            view: self.view,
            template,
            outer: self.store.filter(|_| template.needs_outer()).map(|s| (s, self.learned_in)),
            growth: self.view.growth(left),
            departures: first.departures(self.clock, (which, of)),
            indices: match (self.missing, &self.churn) {
                (Some(missing), _) => Indices::these(missing, which, of),
                (None, Some(churn)) if left => Indices::Churn(Box::new(ChurnOrder::new(churn, (which, of)))),
                (None, _) => {
                    let (popularity, n) = (self.extra.popularity, first.flows);
                    Indices::with(popularity, (order, n), (self.seed ^ BY_POPULARITY, seed), (which, of))
                }
            },
            tag: Tag {
                trial: self.number,
                stream: Tag::stream(self.phase.kind, !left),
                sender: which as u8,
                sequence: 0,
                index: 0,
            },
        };
        let later = parts.map(|part| LaterSchedule {
            after: self.clock.ticks(part.from.0),
            departures: part.departures(self.clock, (which, of)),
            flows: part.flows,
        });
        let mix = self.view.mix.as_ref().map(|mix| if left { &mix.left } else { &mix.right });
        let native = self.native().filter(|_| self.phase.kind == FramePurpose::Data);
        let native = native.map(|background| TaskMaker::native_sender(background, left, seed, (which, of)));
        let expect = if left { &self.view.expect_right } else { &self.view.expect_left };
        let edges = Edges { expect, learned: self.store.map(|store| (store, self.learned_in)) };
        let sender = Sender::new(plan, self.clock, self.give_up).of_sizes(mix).beside(native).meeting(edges);
        Some(sender.stamping(self.rows[usize::from(!left)]).then(later.collect()))
    }

    pub(crate) fn judge(&self, at_left: bool, seen: &'a mut [Arrivals]) -> Judge<'a> {
        let mut plan = JudgePlan::new(self.view, at_left, self.number, self.phase.kind);
        plan.learn = (self.phase.learn || self.phase.update) && !at_left;
        plan.store = self.store.filter(|_| plan.expect.needs_outer()).map(|s| (s, self.learned_in));
        let held = self.churn.map_or(0, |churn| churn.held);
        let judge = Judge::new(plan, self.clock, seen).holding(u32::try_from(held).unwrap_or(u32::MAX));
        let mix = self.view.mix.as_ref().map(|mix| if at_left { &mix.expect_left } else { &mix.expect_right });
        let native = self.native().map(|background| self.native_judge(background, at_left));
        judge.of_sizes(mix).and_native(native).stamping(self.rows[usize::from(at_left)])
    }

    fn native(&self) -> Option<&'a Background> {
        self.view.background.as_ref()
    }

    /// Pseudo-random flows (RFC 4814).
    fn native_sender(background: &'a Background, left: bool, seed: u64, sender: (u64, u64)) -> NativeSender<'a> {
        let Background { view, foreground } = background;
        NativeSender {
            view,
            foreground: *foreground,
            template: if left { &view.left } else { &view.right },
            sizes: view.mix.as_ref().map(|mix| if left { &mix.left } else { &mix.right }),
            indices: Indices::new(Order::Random, view.connections(), seed ^ NATIVE, sender.0, sender.1),
        }
    }

    /// Native frames of an earlier phase are late.
    fn native_judge(&self, background: &'a Background, at_left: bool) -> NativeJudge<'a> {
        let Background { view, foreground } = background;
        NativeJudge {
            plan: JudgePlan::new(view, at_left, self.number, self.phase.kind),
            foreground: *foreground,
            sizes: view.mix.as_ref().map(|mix| if at_left { &mix.expect_left } else { &mix.expect_right }),
            are_sent: self.phase.kind == FramePurpose::Data,
            findings: Findings::default(),
            work: Work::default(),
        }
    }
}
