//! A view: what the tester's two sides send and expect in one set-up, as data. The plane makes it, the
//! engine uses it and so needs to know no technology.

use crate::{Expect, FlowSpace, Permutation, Template};

/// The tester's two sides in one set-up. Left is the Initiator's side in stateful tests.
#[derive(Clone, Debug)]
pub struct View {
    /// All flows that may be used.
    pub flows: FlowSpace,
    /// Connection index → flow number. It permutes all flows, so that the first N connections are spread over all
    /// subscribers, addresses and ports of the flow space, however few they are.
    pub order: Permutation,
    /// Connections (N): at most the flow space's size.
    pub connections: u64,
    /// What Left sends.
    pub left: Template,
    /// What Right sends.
    pub right: Template,
    /// What Right must receive when Left has sent.
    pub expect_right: Expect,
    /// What Left must receive when Right has sent.
    pub expect_left: Expect,
    /// Right learns outside addresses and ports in phase 1 and sends to these only (RFC 9693).
    pub stateful: bool,
    /// Where test frames can be told from all others in a received frame: for XDP programs and the like.
    pub magic_at: Vec<usize>,
}

impl View {
    /// Connections (N).
    pub fn connections(&self) -> u64 {
        self.connections
    }

    /// Length of the longest frame that either side sends or receives, without FCS: what pools are made for.
    pub fn longest(&self) -> usize {
        self.left.len().max(self.right.len()).max(self.expect_left.frame_len()).max(self.expect_right.frame_len())
    }

    /// Octets by which the DUT lengthens the frames that Left sends (`left`) or that Right sends; 0 if it shortens them.
    pub fn growth(&self, left: bool) -> usize {
        let (sent, received) = if left { (&self.left, &self.expect_right) } else { (&self.right, &self.expect_left) };
        received.frame_len().saturating_sub(sent.len())
    }
}
