//! The frames that an XDP socket receives, and the BPF program generated from it. Others go to the
//! kernel, so that ARP, neighbour discovery and ssh keep working.

use crate::PortError;
use crate::bpf::{EXIT, Instruction, set};

/// Frames that meet all conditions of at least one alternative.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Select {
    /// Alternatives; an empty list selects no frame.
    pub any_of: Vec<Vec<Condition>>,
}

/// A condition on a field of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Offset in the Ethernet frame; a frame that ends before the field's end fails.
    pub offset: u16,
    /// Length of the field.
    pub width: Width,
    /// Bits that are compared.
    pub mask: u64,
    /// Value to compare, most significant byte first.
    pub value: u64,
}

/// Length of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// One byte.
    One,
    /// Two bytes.
    Two,
    /// Four bytes.
    Four,
    /// Eight bytes.
    Eight,
}

impl Width {
    fn bytes(self) -> usize {
        match self {
            Width::One => 1,
            Width::Two => 2,
            Width::Four => 4,
            Width::Eight => 8,
        }
    }
    fn all(self) -> u64 {
        u64::MAX >> (64 - 8 * self.bytes())
    }
}

impl Condition {
    /// The condition that a field equals `value`.
    pub fn equals(offset: u16, width: Width, value: u64) -> Condition {
        Condition { offset, width, mask: width.all(), value }
    }
    fn end(&self) -> usize {
        self.offset as usize + self.width.bytes()
    }
}

impl Select {
    /// Selects every frame.
    pub fn everything() -> Select {
        Select { any_of: vec![Vec::new()] }
    }

    /// Whether the program selects this frame.
    pub fn takes(&self, frame: &[u8]) -> bool {
        let meets = |c: &Condition| {
            let field = frame.get(c.offset as usize..c.end());
            field.is_some_and(|f| f.iter().fold(0, |v, b| v << 8 | *b as u64) & c.mask == c.value)
        };
        self.any_of.iter().any(|all| all.iter().all(meets))
    }
}

// Instructions, with codes of the kernel's bpf.h and bpf_common.h. Registers: 0 result and scratch, 1 to 3 arguments, 2
// start of the frame, 3 its end, 4 limit of a field, 5 field, 6 the context.
const fn copy(to: u8, from: u8) -> Instruction {
    Instruction::new(0xbf, to, from, 0, 0)
}
const fn add(to: u8, value: i32) -> Instruction {
    Instruction::new(0x07, to, 0, 0, value)
}
const fn and(to: u8, from: u8) -> Instruction {
    Instruction::new(0x5f, to, from, 0, 0)
}
const fn load(width: Width, to: u8, from: u8, offset: i16) -> Instruction {
    let code = match width {
        Width::One => 0x71,
        Width::Two => 0x69,
        Width::Four => 0x61,
        Width::Eight => 0x79,
    };
    Instruction::new(code, to, from, offset, 0)
}
/// Loads a constant; with `kind` 1, a map's descriptor.
const fn constant(to: u8, kind: u8, value: u64) -> [Instruction; 2] {
    [Instruction::new(0x18, to, kind, 0, value as i32), Instruction::new(0, 0, 0, 0, (value >> 32) as i32)]
}
const fn call(function: i32) -> Instruction {
    Instruction::new(0x85, 0, 0, 0, function)
}
const JUMP_IF_EQUAL_TO: u8 = 0x15;
const JUMP_IF_DIFFERENT_FROM: u8 = 0x55;
const JUMP_IF_GREATER: u8 = 0x2d;
const JUMP_IF_DIFFERENT: u8 = 0x5d;

/// `XDP_PASS`: gives the frame to the kernel.
const PASS: i32 = 2;
/// The helper `bpf_redirect_map`.
const REDIRECT_MAP: i32 = 51;
/// Offsets in `struct xdp_md`.
const DATA: i16 = 0;
const DATA_END: i16 = 4;
const QUEUE: i16 = 16;

/// Gives a frame to the socket of its queue, or to the kernel if there is none.
pub(super) fn redirect(map: i32) -> Vec<Instruction> {
    let [map_low, map_high] = constant(1, 1, map as u64);
    vec![load(Width::Four, 2, 6, QUEUE), map_low, map_high, set(3, PASS), call(REDIRECT_MAP), EXIT]
}

/// Runs `taken` for the frames of `select`, gives others to the kernel. Fails if the selection is
/// too long, or a condition cannot be met.
pub(super) fn program(select: &Select, taken: &[Instruction]) -> Result<Vec<Instruction>, PortError> {
    let mut code = vec![copy(6, 1), load(Width::Four, 2, 1, DATA), load(Width::Four, 3, 1, DATA_END)];
    let mut to_taken = Vec::new();
    for conditions in &select.any_of {
        let mut to_next = Vec::new();
        if let Some(end) = conditions.iter().map(Condition::end).max() {
            code.extend([copy(4, 2), add(4, end as i32)]);
            to_next.push(code.len());
            code.push(Instruction::new(JUMP_IF_GREATER, 4, 3, 0, 0));
        }
        for c in conditions {
            check_condition(c)?;
            code.push(load(c.width, 5, 2, c.offset as i16));
            if c.mask != c.width.all() {
                code.extend(constant(0, 0, as_loaded(c.mask, c.width)));
                code.push(and(5, 0));
            }
            code.extend(constant(0, 0, as_loaded(c.value, c.width)));
            to_next.push(code.len());
            code.push(Instruction::new(JUMP_IF_DIFFERENT, 5, 0, 0, 0));
        }
        // Always taken, but the verifier accepts code behind a conditional jump.
        code.push(set(0, 0));
        to_taken.push(code.len());
        code.push(Instruction::new(JUMP_IF_EQUAL_TO, 0, 0, 0, 0));
        let next = code.len();
        aim(&mut code, &to_next, next)?;
    }
    code.push(set(0, PASS));
    // Never taken, but the code that follows must be reachable.
    to_taken.push(code.len());
    code.extend([Instruction::new(JUMP_IF_DIFFERENT_FROM, 0, 0, 0, PASS), EXIT]);
    let end = code.len();
    aim(&mut code, &to_taken, end)?;
    code.extend(taken);
    Ok(code)
}

/// The verifier allows packet offsets of 16 bits.
fn check_condition(c: &Condition) -> Result<(), PortError> {
    if c.end() > i16::MAX as usize || c.value & !c.mask != 0 || c.mask & !c.width.all() != 0 {
        return Err(PortError::Unsupported(format!("no frame can match the condition {c:?}")));
    }
    Ok(())
}

/// The value in the machine's byte order.
fn as_loaded(value: u64, width: Width) -> u64 {
    match width {
        Width::One => value,
        Width::Two => (value as u16).to_be() as u64,
        Width::Four => (value as u32).to_be() as u64,
        Width::Eight => value.to_be(),
    }
}

fn aim(code: &mut [Instruction], from: &[usize], target: usize) -> Result<(), PortError> {
    for &at in from {
        code[at].offset = i16::try_from(target - at - 1)
            .map_err(|_| PortError::Unsupported("the selection of frames is too long for a program".into()))?;
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// UDP over IPv4 with a mark behind the header, and frames of one `EtherType` with upper nibble 6 at offset 14.
    pub(in super::super) fn example() -> Select {
        let first = vec![
            Condition::equals(12, Width::Two, 0x0800),
            Condition::equals(23, Width::One, 17),
            Condition::equals(42, Width::Eight, 0x0102_0304_0506_0708),
        ];
        let second = vec![
            Condition::equals(12, Width::Two, 0x86dd),
            Condition { offset: 14, width: Width::Four, mask: 0xf000_0000, value: 0x6000_0000 },
        ];
        Select { any_of: vec![first, second] }
    }

    /// A test can distinguish `XDP_DROP` from `XDP_PASS`.
    pub(in super::super) fn dropping() -> Vec<Instruction> {
        vec![set(0, 1), EXIT]
    }

    pub(in super::super) fn without_exit() -> Vec<Instruction> {
        vec![set(0, 1)]
    }

    /// Frames with the expected result.
    pub(in super::super) fn frames() -> Vec<(Vec<u8>, bool)> {
        let mut marked = vec![0; 60];
        marked[12..14].copy_from_slice(&[8, 0]);
        marked[23] = 17;
        marked[42..50].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
        let mut six = vec![0; 60];
        six[12..15].copy_from_slice(&[0x86, 0xdd, 0x6f]);
        let but = |frame: &[u8], at: usize, value: u8| {
            let mut changed = frame.to_vec();
            changed[at] = value;
            changed
        };
        vec![
            (marked.clone(), true),
            (marked[..50].to_vec(), true),
            (marked[..49].to_vec(), false),
            (but(&marked, 23, 6), false),
            (but(&marked, 12, 9), false),
            (but(&marked, 42, 0), false),
            (but(&marked, 49, 0), false),
            (six.clone(), true),
            (six[..18].to_vec(), true),
            (six[..17].to_vec(), false),
            (but(&six, 14, 0x4f), false),
            (vec![0; 60], false),
        ]
    }

    #[test]
    fn the_selection_takes_what_it_says() {
        for (i, (frame, taken)) in frames().iter().enumerate() {
            assert_eq!(example().takes(frame), *taken, "frame {i}");
        }
        assert!(Select::everything().takes(&[]) && !Select::default().takes(&[0; 60]));
    }

    #[test]
    fn conditions_that_cannot_be_met_are_refused() {
        for c in [
            Condition { offset: 0, width: Width::One, mask: 0x0f, value: 0x10 },
            Condition { offset: 0, width: Width::One, mask: 0x1ff, value: 0 },
            Condition::equals(0x7fff, Width::One, 0),
        ] {
            assert!(program(&Select { any_of: vec![vec![c]] }, &[EXIT]).is_err(), "{c:?}");
        }
    }
}
