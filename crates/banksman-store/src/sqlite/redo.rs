//! A file beside the database that makes commits durable before SQLite has committed them.
//!
//! It holds records: what a group of commits wrote, as strokes, in order. Records belong to a lap, which the database
//! knows by a number that was drawn for it, and how many of them it has committed. What it has not is written again by
//! whoever opens it next. A new lap begins at the start of the file, over what the lap before left there.
//!
//! Whoever writes to it has locked it, for as long as they live, and took that lock and writes records only while they have
//! SQLite's own. So whoever has SQLite's lock and finds this one free knows that nobody else will write again what is in
//! the file; and if it is taken, that nothing is added to it now, and that what is missing in the database will be written
//! by the other: that has to be waited for.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::stroke::{Field, Stroke, put};

/// How long a lap may become before the next one begins; short in tests, so that they see it happen.
const LAP: u64 = if cfg!(test) { 64 << 10 } else { 16 << 20 };

/// A record that is longer is not worth it: what large texts cost is not what SQLite makes of them.
const LONGEST: usize = if cfg!(test) { 16 << 10 } else { 1 << 20 };

/// The file grows by this much at a time: syncing what stays as long as it was costs half.
const STEP: u64 = if cfg!(test) { 32 << 10 } else { 512 << 10 };

/// The lap, the number in the lap, the length of what follows, and a checksum of these and of what follows.
const HEADER: usize = 8 + 8 + 8 + 4;

pub(super) struct Redo {
    file: File,
    lap: i64,
    /// How many records this lap has.
    number: u64,
    /// Where the next record goes.
    end: u64,
    /// How long the file is.
    length: u64,
}

/// What becomes a record: a header that is filled in at last, and strokes.
pub(super) struct Record(Vec<u8>);

impl Default for Record {
    fn default() -> Self {
        Self(vec![0; HEADER])
    }
}

impl Record {
    pub(super) fn put(&mut self, stroke: Stroke, fields: &[Field<'_>]) {
        put(&mut self.0, stroke, fields);
    }

    pub(super) fn clear(&mut self) {
        // What a giant has needed is not kept for all that come after it.
        self.0.shrink_to(LONGEST);
        self.0.truncate(HEADER);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.len() <= HEADER
    }

    pub(super) fn fits(&self) -> bool {
        self.0.len() <= LONGEST
    }

    fn close(&mut self, lap: i64, number: u64) -> &[u8] {
        let header = header(lap, number, self.0.get(HEADER..).unwrap_or_default());
        for (slot, byte) in self.0.iter_mut().zip(header) {
            *slot = byte;
        }
        &self.0
    }
}

fn header(lap: i64, number: u64, strokes: &[u8]) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    let mut checksum = crc32fast::Hasher::new();
    let length = strokes.len() as u64;
    let counts = lap.to_le_bytes().into_iter().chain(number.to_le_bytes()).chain(length.to_le_bytes());
    for (slot, byte) in header.iter_mut().zip(counts) {
        *slot = byte;
    }
    checksum.update(&header);
    checksum.update(strokes);
    for (slot, byte) in header.iter_mut().skip(HEADER - 4).zip(checksum.finalize().to_le_bytes()) {
        *slot = byte;
    }
    header
}

/// The file that belongs to a database.
pub(super) fn path_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-redo");
    name.into()
}

/// What the file holds, whoever has it.
pub(super) fn peek(database: &Path) -> io::Result<Vec<u8>> {
    match std::fs::read(path_of(database)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
}

/// Whether to make the file if there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Make,
    Leave,
}

impl Redo {
    /// Takes the file, unless somebody else has it, or there is none and none is to be made.
    pub(super) fn take(database: &Path, missing: Missing) -> io::Result<Option<Self>> {
        let make = missing == Missing::Make;
        let path = path_of(database);
        let opened =
            OpenOptions::new().read(true).write(true).create(make).truncate(false).mode(0o600).open(path);
        let file = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !make => return Ok(None),
            opened => opened?,
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let length = file.metadata()?.len();
        Ok(Some(Self { file, lap: 0, number: 0, end: 0, length }))
    }

    pub(super) fn lap(&self) -> i64 {
        self.lap
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn is_full(&self) -> bool {
        self.end >= LAP
    }

    /// Begins a lap that the database knows of: nothing of the one before is needed any more.
    pub(super) fn begin_lap(&mut self, lap: i64) {
        self.lap = lap;
        self.number = 0;
        self.end = 0;
    }

    /// Writes a record, durably. If it fails, the next one takes its place.
    pub(super) fn append(&mut self, record: &mut Record) -> io::Result<()> {
        let bytes = record.close(self.lap, self.number + 1);
        let end = self.end + bytes.len() as u64;
        if end > self.length {
            let longer = end.next_multiple_of(STEP);
            let zeros = vec![0; usize::try_from(longer - self.length).unwrap_or_default()];
            self.file.write_all_at(&zeros, self.length)?;
            self.length = longer;
        }
        self.file.write_all_at(bytes, self.end)?;
        self.file.sync_data()?;
        self.end = end;
        self.number += 1;
        Ok(())
    }

    /// All that was written in this lap by this process, or, by one before it, in the lap that the database knows.
    pub(super) fn read(&self) -> io::Result<Vec<u8>> {
        let end = if self.number > 0 { self.end } else { self.length };
        let mut bytes = vec![0; usize::try_from(end).unwrap_or_default()];
        self.file.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    }

    /// Leaves nothing behind that anybody would read.
    pub(super) fn empty(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.length = 0;
        Ok(())
    }
}

/// The strokes of each record of a lap, as far as there are whole ones.
///
/// A record is synced before the next one is written, and nobody is told of one that was not. So the first that is not
/// whole is the end: it was being written when everything stopped.
pub(super) fn records(mut bytes: &[u8], lap: i64) -> impl Iterator<Item = (u64, &[u8])> {
    let mut number = 0;
    std::iter::from_fn(move || {
        let (found, rest) = bytes.split_first_chunk::<HEADER>()?;
        let length = found.get(16..24)?.try_into().ok().map(u64::from_le_bytes)?;
        let (strokes, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        if *found != header(lap, number + 1, strokes) {
            return None;
        }
        number += 1;
        bytes = rest;
        Some((number, strokes))
    })
}
