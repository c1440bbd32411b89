//! Counting: how a port is used, call by call. A port's own counters say what became of frames; these say how full the
//! bursts were and how often there was nothing, which is what tells a busy worker from an idle one.

use crate::{Burst, Counters, Pool, Port, PortError, PortFacts, Sent};

/// How a port was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls of `receive`.
    pub polls: u64,
    /// Of these, how many found nothing.
    pub empty_polls: u64,
    /// Frames received.
    pub frames_in: u64,
    /// Their octets, without FCS.
    pub octets_in: u64,
    /// Calls of `transmit` with frames.
    pub bursts: u64,
    /// Frames handed over, refused ones included.
    pub frames_out: u64,
    /// Their octets, without FCS.
    pub octets_out: u64,
    /// Calls that left frames behind: back-pressure of our own side.
    pub held_up: u64,
}

/// A port that is counted.
pub struct Count<P> {
    port: P,
    tally: Tally,
}

impl<P: Port> Count<P> {
    /// Count what `port` does from now on.
    pub fn new(port: P) -> Count<P> {
        Count { port, tally: Tally::default() }
    }
    /// What was counted.
    pub fn tally(&self) -> Tally {
        self.tally
    }
    /// The port inside.
    pub fn into_inner(self) -> P {
        self.port
    }
}

impl<P: Port> Port for Count<P> {
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
        let first = into.len();
        let got = self.port.receive(pool, into)?;
        self.tally.polls += 1;
        self.tally.empty_polls += u64::from(got == 0);
        self.tally.frames_in += got as u64;
        self.tally.octets_in += into[first..].iter().map(|f| f.len() as u64).sum::<u64>();
        Ok(got)
    }

    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        let octets = |burst: &Burst| burst.iter().map(|f| f.len() as u64).sum::<u64>();
        let (frames, before) = (burst.len(), octets(burst));
        let sent = self.port.transmit(pool, burst)?;
        self.tally.bursts += u64::from(frames > 0);
        self.tally.frames_out += (frames - burst.len()) as u64;
        self.tally.octets_out += before - octets(burst);
        self.tally.held_up += u64::from(!burst.is_empty());
        Ok(sent)
    }

    fn counters(&mut self) -> Counters {
        self.port.counters()
    }

    fn facts(&self) -> PortFacts {
        self.port.facts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{Steer, link};
    use crate::{Clock, PoolConfig, burst};

    #[test]
    fn calls_frames_and_octets_are_counted() {
        let mut pool = Pool::single(PoolConfig::compact(1, 16, 200)).unwrap();
        let (mut a, mut b) = link("t", Clock::system(), 8, (1, Steer::First), (1, Steer::First));
        let (mut a, mut b) = (Count::new(a.remove(0)), Count::new(b.remove(0)));
        let mut frames = burst();
        frames.extend([60, 100, 200].map(|len| pool.alloc(len).unwrap()));
        a.transmit(&mut pool, &mut frames).unwrap();
        a.transmit(&mut pool, &mut frames).unwrap();
        b.receive(&mut pool, &mut frames).unwrap();
        b.receive(&mut pool, &mut frames).unwrap();
        let sent = Tally { bursts: 1, frames_out: 3, octets_out: 360, ..Tally::default() };
        let received = Tally { polls: 2, empty_polls: 1, frames_in: 3, octets_in: 360, ..Tally::default() };
        assert_eq!((a.tally(), b.tally()), (sent, received));
    }
}
