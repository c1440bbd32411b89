//! Converts the plane's steering to the link's.

use plane::Steering;
use port::link::Steer;

/// Link's form of a function's steering.
pub fn steer(rule: Steering) -> Steer {
    match rule {
        Steering::Hash(fields) => Steer::Hash(fields.to_vec()),
        Steering::Block { at, shift } => Steer::Block { at, shift },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A NAT predicts to which worker its choice of a port leads: link and plane must agree on every frame.
    #[test]
    fn link_and_plane_agree() {
        for rule in [Steering::Hash(&[(26, 4), (34, 2)]), Steering::Block { at: 36, shift: 6 }] {
            let link = steer(rule);
            let mut frame = [0u8; 60];
            for n in 0..20_000u32 {
                let bytes = n.wrapping_mul(0x9e37_79b1).to_be_bytes();
                frame[26..30].copy_from_slice(&bytes);
                frame[34..38].copy_from_slice(&n.wrapping_mul(0x85eb_ca77).to_be_bytes());
                for workers in 1..6 {
                    assert_eq!(
                        link.queue(&frame, workers),
                        rule.worker(&frame, workers),
                        "{rule:?}, {workers} workers"
                    );
                }
            }
        }
    }
}
