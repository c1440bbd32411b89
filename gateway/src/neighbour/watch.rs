//! Checks a newly announced address of a next hop before the gateway uses it: asks the known and the
//! announced address by unicast. Repeats the request if the next hop does not answer.

use super::learn::NextHop;
use std::time::Duration;
use wire::Mac;

/// Time between two checks of a next hop that answers (RFC 4861, section 10: `REACHABLE_TIME`).
const CHECK: Duration = Duration::from_secs(30);
/// Time to wait for an answer.
const WAIT: Duration = Duration::from_millis(300);
/// Unicast requests without an answer before the first broadcast, and before another address is believed (RFC 4861:
/// `MAX_UNICAST_SOLICIT`).
const UNICASTS: u32 = 3;
/// Time between two requests from then on.
const PAUSE: Duration = Duration::from_secs(1);

/// A question for a next hop: to one Ethernet address, or to all.
pub type Question = Option<Mac>;

/// What a check has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The next hop has another Ethernet address: the known one did not answer, this one did.
    Moved(Mac),
    /// Another station claims the address of the next hop, which still answers.
    Claimed(Mac),
    /// The next hop does not answer.
    Silent,
}

struct Asked {
    answers: u64,
    claim: Option<(Mac, u64)>,
}

/// The checks of one next hop.
pub struct Watch {
    due: Duration,
    asked: Option<Asked>,
    unanswered: u32,
}

impl Watch {
    /// A watch on a next hop that answered at this time.
    pub fn new(now: Duration) -> Watch {
        Watch { due: now + CHECK, asked: None, unanswered: 0 }
    }

    /// Whether the next hop answered the last request, and no request is open.
    pub fn is_settled(&self) -> bool {
        self.asked.is_none() && self.unanswered == 0
    }

    /// Returns what an earlier request has found, and the requests to send now.
    pub fn step(&mut self, now: Duration, next_hop: &NextHop) -> (Option<Finding>, Vec<Question>) {
        let found = match &self.asked {
            Some(asked) => {
                let answered = next_hop.answers() != asked.answers;
                let moved =
                    asked.claim.filter(|(mac, said)| next_hop.claim().is_some_and(|c| c.0 == *mac && c.1 > *said));
                if !answered && now < self.due {
                    return (None, Vec::new());
                }
                let claimed = asked.claim.map(|(mac, _)| mac);
                self.asked = None;
                self.unanswered += 1;
                match (answered, moved.filter(|_| self.unanswered >= UNICASTS)) {
                    (true, _) => {
                        next_hop.forget_claim();
                        self.settle(now);
                        claimed.map(Finding::Claimed)
                    }
                    (false, Some((mac, _))) => {
                        next_hop.moves(mac);
                        self.settle(now);
                        Some(Finding::Moved(mac))
                    }
                    (false, None) => (self.unanswered == UNICASTS).then_some(Finding::Silent),
                }
            }
            None => None,
        };
        if found.is_some() || (now < self.due && next_hop.claim().is_none()) {
            return (found, Vec::new());
        }
        (None, self.ask(now, next_hop))
    }

    fn settle(&mut self, now: Duration) {
        (self.unanswered, self.due) = (0, now + CHECK);
    }

    fn ask(&mut self, now: Duration, next_hop: &NextHop) -> Vec<Question> {
        let claim = next_hop.claim();
        self.asked = Some(Asked { answers: next_hop.answers(), claim });
        self.due = now + if self.unanswered < UNICASTS { WAIT } else { PAUSE };
        let mut whom = vec![Some(next_hop.mac())];
        whom.extend(claim.map(|(mac, _)| Some(mac)));
        if self.unanswered >= UNICASTS {
            whom.push(None);
        }
        whom
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbour::learn::tests::{NEW, OLD, OWN, arp};

    const OTHER: Mac = Mac([2, 0, 0, 0, 2, 0x77]);

    /// A next hop among stations, of which these answer; checks every 10 ms for so long.
    struct Bench {
        next_hop: NextHop,
        watch: Watch,
        now: Duration,
        answer: Vec<Mac>,
        /// So many further answers of the known address are lost.
        lost: usize,
        found: Vec<Finding>,
        asked: Vec<Question>,
    }

    impl Bench {
        fn new(answer: &[Mac]) -> Bench {
            let next_hop = NextHop::new("198.51.100.2".parse().unwrap(), OWN, OLD);
            let now = Duration::from_secs(7);
            let (watch, answer) = (Watch::new(now), answer.to_vec());
            Bench { next_hop, watch, now, answer, lost: 0, found: vec![], asked: vec![] }
        }

        fn run(&mut self, time: Duration) -> Vec<Finding> {
            self.found.clear();
            self.asked.clear();
            let end = self.now + time;
            while self.now < end {
                self.now += Duration::from_millis(10);
                let (found, asked) = self.watch.step(self.now, &self.next_hop);
                self.found.extend(found);
                self.asked.extend(&asked);
                for mac in self.answer.iter().filter(|mac| asked.contains(&Some(**mac)) || asked.contains(&None)) {
                    if *mac == OLD && self.lost > 0 {
                        self.lost -= 1;
                    } else {
                        self.next_hop.hear(&arp(*mac));
                    }
                }
            }
            self.found.clone()
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_forged_message_moves_nothing_while_the_next_hop_answers() {
        for answer in [&[OLD][..], &[OLD, NEW], &[NEW, OLD]] {
            let mut b = Bench::new(answer);
            b.next_hop.hear(&arp(NEW));
            assert_eq!(b.next_hop.mac(), OLD);
            assert_eq!(b.run(SECOND), [Finding::Claimed(NEW)]);
            assert_eq!((b.next_hop.mac(), b.asked.contains(&None)), (OLD, false), "by unicast");
            assert!(b.run(20 * SECOND).is_empty());
        }
    }

    /// RFC 4861, section 7.3.3: MAX_UNICAST_SOLICIT requests.
    #[test]
    fn a_forged_message_and_lost_answers_move_nothing() {
        for (lost, finding) in [(1, Finding::Claimed(NEW)), (2, Finding::Claimed(NEW)), (3, Finding::Moved(NEW))] {
            let mut b = Bench { lost, ..Bench::new(&[OLD, NEW]) };
            b.next_hop.hear(&arp(NEW));
            assert_eq!(b.run(SECOND), [finding], "{lost}");
        }
    }

    #[test]
    fn a_next_hop_that_moves_is_followed_within_a_second() {
        let mut b = Bench::new(&[NEW]);
        b.next_hop.hear(&arp(NEW));
        assert_eq!(b.run(SECOND), [Finding::Moved(NEW)]);
        assert_eq!(b.next_hop.mac(), NEW);
        assert!(b.run(100 * SECOND).is_empty() && !b.asked.contains(&None));
    }

    #[test]
    fn who_is_not_there_is_not_believed() {
        let mut b = Bench::new(&[]);
        b.next_hop.hear(&arp(NEW));
        assert_eq!((b.run(20 * SECOND), b.next_hop.mac()), (vec![Finding::Silent], OLD));
    }

    #[test]
    fn a_next_hop_that_does_not_answer_is_asked_again_until_somebody_does() {
        let mut b = Bench::new(&[]);
        assert_eq!(b.run(60 * SECOND), [Finding::Silent]);
        assert!(b.asked.iter().filter(|q| q.is_none()).count() > 20);
        assert!(!b.watch.is_settled());
        b.answer = vec![OTHER];
        assert_eq!((b.run(4 * SECOND), b.next_hop.mac()), (vec![Finding::Moved(OTHER)], OTHER));
        b.answer = vec![];
        assert_eq!(b.run(60 * SECOND), [Finding::Silent]);
        b.answer = vec![OTHER];
        assert!(b.run(2 * SECOND).is_empty() && b.watch.is_settled(), "it is back");
    }
}
