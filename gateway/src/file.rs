//! File mode: a plane function between capture files. Deterministic: inputs are merged by time
//! stamp (ties left first), which is the clock, and the seed determines every random choice.

use crate::own::Owns;
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{Linktype, PcapBlockOwned, PcapError, create_reader};
use plane::{Drops, DynFunction, Input, Packet, Side, Spare, Verdict};
use port::middleware::vlan::Tags;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use wire::pcap;

/// Fault of a capture file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Input or output failed.
    #[error("{doing} {}: {cause}", path.display())]
    Io {
        /// Opening, making, writing.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Error of the system.
        cause: io::Error,
    },
    /// No supported capture file.
    #[error("reading {}, packet {packet}: {why}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Number of the packet, from 1.
        packet: u64,
        /// What is wrong, and what to do.
        why: String,
    },
}

/// A packet on the heap, with room on both sides.
pub struct Heap {
    bytes: Vec<u8>,
    start: usize,
}

/// Octets in front of a packet, for headers.
const HEADROOM: usize = 128;
/// Largest IPv6 packet with Ethernet header and a margin.
const LARGEST: usize = 65_535 + 128;

impl Heap {
    /// A packet of these bytes.
    pub fn new(bytes: &[u8]) -> Heap {
        let mut b = vec![0; HEADROOM];
        b.extend_from_slice(bytes);
        Heap { bytes: b, start: HEADROOM }
    }
}

impl Packet for Heap {
    fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..]
    }
    fn grow_front(&mut self, n: usize) -> bool {
        if n > self.start || self.bytes.len() - self.start + n > LARGEST {
            return false;
        }
        self.start -= n;
        true
    }
    fn shrink_front(&mut self, n: usize) -> bool {
        if n > self.bytes.len() - self.start {
            return false;
        }
        self.start += n;
        true
    }
    fn set_len(&mut self, len: usize) -> bool {
        if len > LARGEST {
            return false;
        }
        self.bytes.resize(self.start + len, 0);
        true
    }
}

/// A capture file being read: pcap in both byte orders, micro- and nanoseconds, or pcapng.
pub struct Reader {
    inner: Box<dyn PcapReaderIterator>,
    path: PathBuf,
    packet: u64,
    /// Pcapng, else classic.
    blocks: bool,
    /// Classic: nanoseconds for each unit of the fraction.
    unit: u64,
    /// Pcapng: units per second and offset in seconds of each interface.
    interfaces: Vec<(u64, i64)>,
}

/// A packet that was read.
pub struct StampedFile {
    /// Nanoseconds of the file's clock.
    pub time: u64,
    /// Octets from the Ethernet header on.
    pub bytes: Vec<u8>,
}

impl Reader {
    /// Opens a capture file.
    ///
    /// # Errors
    /// It cannot be read or is no capture file.
    pub fn open(path: &Path) -> Result<Reader, FileError> {
        let io = |cause| FileError::Io { doing: "opening", path: path.to_owned(), cause };
        let mut file = File::open(path).map_err(io)?;
        let mut first = Vec::new();
        Read::by_ref(&mut file).take(SECTION.len() as u64).read_to_end(&mut first).map_err(io)?;
        file.rewind().map_err(io)?;
        let blocks = first == SECTION;
        let reader =
            |inner| Reader { inner, path: path.to_owned(), packet: 0, blocks, unit: 1000, interfaces: Vec::new() };
        // Larger than the largest packet.
        match create_reader(1 << 20, file) {
            Ok(inner) => Ok(reader(inner)),
            Err(PcapError::Eof) => Err(FileError::Wrong {
                path: path.to_owned(),
                packet: 0,
                why: "the file is empty; a capture without packets has a header at least".into(),
            }),
            Err(e) => Err(FileError::Wrong {
                path: path.to_owned(),
                packet: 0,
                why: format!("{e}: this is neither pcap nor pcapng"),
            }),
        }
    }

    /// Next packet; none at the end.
    ///
    /// # Errors
    /// The file is truncated or not of Ethernet.
    pub fn read(&mut self) -> Result<Option<StampedFile>, FileError> {
        loop {
            if self.blocks && is_too_short(self.inner.data()) {
                return Err(self.wrong("a block is shorter than its own frame of 12 octets".into()));
            }
            let next = match self.inner.next() {
                Ok((size, block)) => NextBlock::Got(size, read_block(&block, &mut self.unit, &mut self.interfaces)),
                Err(PcapError::Eof) => NextBlock::End,
                Err(PcapError::Incomplete(_)) => NextBlock::More,
                Err(e) => NextBlock::Bad(e.to_string()),
            };
            let (size, found) = match next {
                NextBlock::Got(size, found) => (size, found),
                NextBlock::End => return Ok(None),
                NextBlock::More if self.inner.reader_exhausted() => {
                    return Err(self.wrong("the file ends in the middle of it".into()));
                }
                NextBlock::More => {
                    let filled = self.inner.refill().map_err(|e| e.to_string());
                    filled.map_err(|why| self.wrong(why))?;
                    continue;
                }
                NextBlock::Bad(why) => return Err(self.wrong(why)),
            };
            self.inner.consume(size);
            match found {
                Ok(None) => {}
                Ok(Some(packet)) => {
                    self.packet += 1;
                    return Ok(Some(packet));
                }
                Err(why) => return Err(self.wrong(why)),
            }
        }
    }

    fn wrong(&self, why: String) -> FileError {
        FileError::Wrong { path: self.path.clone(), packet: self.packet + 1, why }
    }
}

/// Block type of a pcapng file's section header.
const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// Whether a block is below the length of its type and length fields, in either byte order. The
/// parser relies on longer blocks.
fn is_too_short(block: &[u8]) -> bool {
    let length = block.get(4..8).and_then(|octets| <[u8; 4]>::try_from(octets).ok());
    length.is_some_and(|octets| u32::from_le_bytes(octets) < 12 || u32::from_be_bytes(octets) < 12)
}

enum NextBlock {
    Got(usize, Result<Option<StampedFile>, String>),
    More,
    End,
    Bad(String),
}

const NOT_ETHERNET: &str = "the link type is not Ethernet: capture with Ethernet headers";

fn read_block(
    block: &PcapBlockOwned<'_>,
    unit: &mut u64,
    interfaces: &mut Vec<(u64, i64)>,
) -> Result<Option<StampedFile>, String> {
    use pcap_parser::Block;
    match block {
        PcapBlockOwned::LegacyHeader(h) => {
            *unit = if h.is_nanosecond_precision() { 1 } else { 1000 };
            if h.network == Linktype::ETHERNET { Ok(None) } else { Err(NOT_ETHERNET.into()) }
        }
        PcapBlockOwned::Legacy(p) => {
            let whole = p.caplen == p.origlen;
            let time = u64::from(p.ts_sec) * 1_000_000_000 + u64::from(p.ts_usec) * *unit;
            stamped(whole, time, p.data)
        }
        PcapBlockOwned::NG(Block::SectionHeader(_)) => {
            interfaces.clear();
            Ok(None)
        }
        PcapBlockOwned::NG(Block::InterfaceDescription(i)) => {
            if i.linktype != Linktype::ETHERNET {
                return Err(NOT_ETHERNET.into());
            }
            let resolution = i.ts_resolution().ok_or("a time resolution that cannot be")?;
            interfaces.push((resolution, i.if_tsoffset));
            Ok(None)
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(p)) => {
            let &(resolution, offset) =
                interfaces.get(p.if_id as usize).ok_or("an interface that was not described")?;
            let units = u128::from(p.ts_high) << 32 | u128::from(p.ts_low);
            let nanos = u64::try_from(units * 1_000_000_000 / u128::from(resolution.max(1))).unwrap_or(u64::MAX);
            let time = nanos.saturating_add_signed(offset.saturating_mul(1_000_000_000));
            let data = p.data.get(..p.caplen as usize).ok_or("a length beyond its block")?;
            stamped(p.caplen == p.origlen, time, data)
        }
        PcapBlockOwned::NG(Block::SimplePacket(_)) => {
            Err("it has no time stamp (a simple packet block): the clock would stand still".into())
        }
        PcapBlockOwned::NG(_) => Ok(None),
    }
}

fn stamped(whole: bool, time: u64, data: &[u8]) -> Result<Option<StampedFile>, String> {
    if !whole {
        return Err("it was cut off when it was captured: capture whole packets (tcpdump -s 0)".into());
    }
    if data.len() > LARGEST {
        return Err(format!("{} octets are more than any IP packet has", data.len()));
    }
    Ok(Some(StampedFile { time, bytes: data.to_vec() }))
}

/// More than any packet.
const WHOLE_PACKETS: usize = 1 << 18;

/// A capture file being written: classic pcap with nanoseconds.
pub struct Writer {
    file: BufWriter<File>,
    path: PathBuf,
    packets: u64,
}

impl Writer {
    /// Begins a file. The path is for messages.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(file: File, path: &Path) -> Result<Writer, FileError> {
        let mut writer = Writer { file: BufWriter::new(file), path: path.to_owned(), packets: 0 };
        let begun = writer.file.write_all(&pcap::file_header(WHOLE_PACKETS));
        begun.map_err(|cause| writer.error(cause))?;
        Ok(writer)
    }

    fn write(&mut self, time: u64, bytes: &[u8]) -> Result<(), FileError> {
        let header = pcap::record_header(time, bytes.len(), bytes.len());
        let result = self.file.write_all(&header).and_then(|()| self.file.write_all(bytes));
        result.map_err(|cause| self.error(cause))?;
        self.packets += 1;
        Ok(())
    }

    fn finish(&mut self) -> Result<(), FileError> {
        self.file.flush().map_err(|cause| self.error(cause))
    }

    fn error(&self, cause: io::Error) -> FileError {
        FileError::Io { doing: "writing", path: self.path.clone(), cause }
    }
}

/// Customers' (left) first.
#[derive(Default)]
pub struct Files {
    /// Packets that come in.
    pub inputs: [Option<Reader>; 2],
    /// Packets that go out.
    pub outputs: [Option<Writer>; 2],
}

/// Outcome of all packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// Packets read.
    pub received: u64,
    /// Packets written.
    pub sent: u64,
    /// Packets that the function dropped; waiting fragments when their lifetime is over.
    pub dropped: u64,
    /// Stored or reassembled.
    pub held: u64,
    /// Packets for the gateway itself, answered.
    pub answered: u64,
    /// Packets for the gateway itself, not answered.
    pub local: u64,
    /// Packets for a side without a file.
    pub unwritten: u64,
    /// Packets of another VLAN, or untagged for a side with one.
    pub other_vlan: u64,
}

fn late(counters: &Drops) -> u64 {
    // In a chain, each name begins with that of the part.
    let late = counters.iter().filter(|(name, _)| name.rsplit('.').next() == Some("fragment-late"));
    late.map(|(_, n)| n).sum()
}

/// Interval of timed work, in the packets' time.
const STEP: u64 = 1_000_000_000;
/// Longer gaps are skipped: all timers have expired.
const MOST_STEPS: u64 = 3_600;
/// Time of the first packet, so that earlier times can be represented.
const EPOCH: u64 = 1_000_000_000;

/// Passes all packets through a function, continues for `linger` nanoseconds for delayed packets,
/// and writes every packet that leaves, with its time. Sides with a tag are in that VLAN.
///
/// # Errors
/// A file cannot be read or written.
pub fn replay(
    function: &mut dyn DynFunction<Heap>,
    owns: Option<&Owns>,
    vlans: [Option<Tags>; 2],
    files: &mut Files,
    linger: u64,
) -> Result<PacketCounts, FileError> {
    let mut r = Replay {
        function,
        owns,
        vlans,
        passed: PacketCounts::default(),
        late: 0,
        queue: Vec::new(),
        spare: Collect::default(),
    };
    let mut next: [Option<StampedFile>; 2] = [None, None];
    for (packet, input) in next.iter_mut().zip(&mut files.inputs) {
        *packet = advance(input)?;
    }
    let first = next.iter().flatten().map(|p| p.time).min().unwrap_or(0);
    let mut now = first;
    loop {
        let left_first = match (&next[0], &next[1]) {
            (Some(l), Some(r)) => l.time <= r.time,
            (l, None) if l.is_none() => break,
            (l, _) => l.is_some(),
        };
        let side = usize::from(!left_first);
        let Some(packet) = next[side].take() else { break };
        // A file out of order does not set the clock back.
        let time = packet.time.max(now);
        r.wait(&mut now, time, first, &mut files.outputs)?;
        r.one(if side == 0 { Side::Customer } else { Side::Internet }, &packet.bytes, now - first + EPOCH);
        r.write(now, &mut files.outputs)?;
        next[side] = advance(&mut files.inputs[side])?;
    }
    let end = now.saturating_add(linger);
    r.wait(&mut now, end, first, &mut files.outputs)?;
    files.outputs.iter_mut().flatten().try_for_each(Writer::finish)?;
    Ok(r.passed)
}

fn advance(reader: &mut Option<Reader>) -> Result<Option<StampedFile>, FileError> {
    reader.as_mut().map_or(Ok(None), Reader::read)
}

struct Replay<'a> {
    function: &'a mut dyn DynFunction<Heap>,
    owns: Option<&'a Owns>,
    vlans: [Option<Tags>; 2],
    passed: PacketCounts,
    late: u64,
    queue: Vec<(Side, Heap)>,
    spare: Collect,
}

impl Replay<'_> {
    /// Sweeps, and delayed packets.
    fn wait(&mut self, now: &mut u64, to: u64, first: u64, outputs: &mut [Option<Writer>; 2]) -> Result<(), FileError> {
        for _ in 0..MOST_STEPS {
            if to - *now <= STEP {
                break;
            }
            *now += STEP;
            self.timed(*now - first + EPOCH);
            self.write(*now, outputs)?;
        }
        *now = to;
        self.timed(*now - first + EPOCH);
        self.write(*now, outputs)
    }

    fn timed(&mut self, clock: u64) {
        self.function.catch_up(clock);
        let nothing = Input::new(clock, Side::Customer, &mut [], &mut []);
        self.function.process(nothing, &mut self.spare);
        self.queue.append(&mut self.spare.emitted);
        self.drop_late();
    }

    fn drop_late(&mut self) {
        let late = late(&self.function.counters());
        self.passed.dropped += late - std::mem::replace(&mut self.late, late);
    }

    fn one(&mut self, from: Side, bytes: &[u8], clock: u64) {
        self.passed.received += 1;
        let mut batch = [Heap::new(bytes)];
        if self.vlans[number(from)].is_some_and(|tags| !tags.take_off(&mut batch[0])) {
            self.passed.other_vlan += 1;
            return;
        }
        let mut verdict = [Verdict::Drop; 1];
        let input = Input::new(clock, from, &mut batch, &mut verdict);
        self.function.process(input, &mut self.spare);
        let [mut packet] = batch;
        self.drop_late();
        match verdict[0] {
            Verdict::Forward(to) => self.queue.push((to, packet)),
            Verdict::Local if self.owns.is_some_and(|o| o.answer(from, &mut packet)) => {
                self.passed.answered += 1;
                self.queue.push((from, packet));
            }
            Verdict::Local => self.passed.local += 1,
            Verdict::Held => self.passed.held += 1,
            // There is only one worker.
            Verdict::Drop | Verdict::HandOver(_) => self.passed.dropped += 1,
        }
        self.queue.append(&mut self.spare.emitted);
    }

    fn write(&mut self, time: u64, outputs: &mut [Option<Writer>; 2]) -> Result<(), FileError> {
        for (to, mut packet) in self.queue.drain(..) {
            match &mut outputs[number(to)] {
                Some(file) => {
                    // On the heap, there is room in front.
                    if let Some(tags) = self.vlans[number(to)] {
                        tags.put_on(&mut packet);
                    }
                    file.write(time, packet.bytes())?;
                    self.passed.sent += 1;
                }
                None => self.passed.unwritten += 1,
            }
        }
        Ok(())
    }
}

/// Index of a side, the customers' first.
fn number(side: Side) -> usize {
    usize::from(side == Side::Internet)
}

#[derive(Default)]
struct Collect {
    emitted: Vec<(Side, Heap)>,
}

impl Spare<Heap> for Collect {
    fn fresh(&mut self, len: usize) -> Option<Heap> {
        let mut p = Heap::new(&[]);
        p.set_len(len).then_some(p)
    }
    fn emit(&mut self, to: Side, packet: Heap) {
        self.emitted.push((to, packet));
    }
    fn hand_over(&mut self, to: u16, _from: Side, _packet: Heap) {
        // Never with one worker (see `Spare::hand_over`).
        debug_assert!(false, "handed over to worker {to} of one");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A section of little-endian order with an interface and then a block that states nine octets (found by fuzzing).
    #[test]
    fn a_block_that_is_too_short_for_its_frame_is_no_block() {
        let mut file = Vec::new();
        for words in [
            &[0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28][..],
            &[1, 20, 1, 0, 20],
            &[9, 9, 0x20_0000, 0x6_0000],
        ] {
            file.extend(words.iter().flat_map(|word: &u32| word.to_le_bytes()));
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("short.pcapng");
        std::fs::write(&path, &file).unwrap();
        let error = Reader::open(&path).unwrap().read().err().expect("a fault").to_string();
        assert!(error.contains("a block is shorter than its own frame"), "{error}");
    }
}
