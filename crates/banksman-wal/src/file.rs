//! An open log: what was written in a row and not handed on yet, in front of the machine's file.

#![expect(unsafe_code, reason = "SQLite's interface to files is C")]

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::ffi;

/// More than this is handed on before it is asked for: a transaction that changes everything must not need the memory.
const AT_MOST: usize = 4 << 20;

/// What the machine's file takes at once: SQLite's own code for Unix looks at the lower 17 bits of a length only.
const PIECE: usize = 64 << 10;

static SYNCS: AtomicU64 = AtomicU64::new(0);

/// How often a log was synced by this process.
#[must_use]
pub fn syncs() -> u64 {
    SYNCS.load(Ordering::Relaxed)
}

/// What stands at the address that SQLite knows as the file. The machine's own file follows it.
#[repr(C)]
struct Log {
    base: ffi::sqlite3_file,
    kept: Kept,
}

/// Bytes that belong at an offset.
struct Kept {
    bytes: Vec<u8>,
    offset: i64,
}

impl Kept {
    fn end(&self) -> Option<i64> {
        i64::try_from(self.bytes.len()).ok().and_then(|length| self.offset.checked_add(length))
    }
}

/// The room that SQLite must leave for a file, given what the machine's needs.
pub(crate) fn size(of_machine: c_int) -> c_int {
    c_int::try_from(size_of::<Log>()).unwrap_or(c_int::MAX).saturating_add(of_machine)
}

/// Makes a log at `file`.
///
/// # Safety
/// `file` has room for [`size`] bytes, aligned as SQLite aligns; `machine_open` opens the machine's file where it is told.
pub(crate) unsafe fn open(
    file: *mut ffi::sqlite3_file,
    machine_open: impl FnOnce(*mut ffi::sqlite3_file) -> c_int,
) -> c_int {
    let log = file.cast::<Log>();
    // SAFETY: there is room for both, by the caller's word.
    unsafe {
        (*file).pMethods = std::ptr::null();
        let code = machine_open(inner(file));
        if code == ffi::SQLITE_OK {
            let base = ffi::sqlite3_file { pMethods: &METHODS };
            log.write(Log { base, kept: Kept { bytes: Vec::new(), offset: 0 } });
        }
        code
    }
}

/// The machine's file behind ours.
///
/// # Safety
/// `file` has room for [`size`] bytes.
unsafe fn inner(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    // SAFETY: the machine's file follows in the same allocation.
    unsafe { file.cast::<Log>().add(1).cast() }
}

/// Calls a method of the machine's file.
macro_rules! machine {
    ($file:expr, $method:ident $(, $argument:expr)*) => {{
        // SAFETY: the machine's file was opened with ours and is closed with it, so that its methods are set.
        unsafe {
            let inner = inner($file);
            match (*(*inner).pMethods).$method {
                Some(method) => method(inner $(, $argument)*),
                None => ffi::SQLITE_IOERR,
            }
        }
    }};
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    // A log has no shared memory and is not mapped: that is what later versions add.
    iVersion: 1,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: None,
    xUnfetch: None,
};

/// Hands on what is kept. Whatever comes of it, nothing is kept afterwards: SQLite writes it again if it wants it.
fn hand_on(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite calls the methods of a file with that file, from one thread at a time.
    let kept = unsafe { &mut (*file.cast::<Log>()).kept };
    if kept.bytes.is_empty() {
        return ffi::SQLITE_OK;
    }
    let mut code = ffi::SQLITE_OK;
    for piece in kept.bytes.chunks(PIECE) {
        // A piece is small enough for either.
        #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "at most PIECE")]
        let length = piece.len() as c_int;
        code = machine!(file, xWrite, piece.as_ptr().cast(), length, kept.offset);
        if code != ffi::SQLITE_OK {
            break;
        }
        kept.offset += i64::from(length);
    }
    kept.bytes.clear();
    code
}

/// Hands on, then calls the machine's method.
macro_rules! then_machine {
    ($file:expr, $method:ident $(, $argument:expr)*) => {
        match hand_on($file) {
            ffi::SQLITE_OK => machine!($file, $method $(, $argument)*),
            failed => failed,
        }
    };
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    from: *const c_void,
    length: c_int,
    offset: i64,
) -> c_int {
    let Ok(length) = usize::try_from(length) else {
        return ffi::SQLITE_IOERR_WRITE;
    };
    // SAFETY: as in `hand_on`.
    let kept = unsafe { &(*file.cast::<Log>()).kept };
    if kept.end() != Some(offset) || kept.bytes.len() + length > AT_MOST {
        let code = hand_on(file);
        if code != ffi::SQLITE_OK {
            return code;
        }
    }
    // SAFETY: as in `hand_on`; the shared reference above is not used any more.
    let kept = unsafe { &mut (*file.cast::<Log>()).kept };
    if kept.bytes.is_empty() {
        kept.offset = offset;
    }
    // SAFETY: SQLite gives `length` readable bytes.
    kept.bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(from.cast::<u8>(), length) });
    ffi::SQLITE_OK
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: as in `hand_on`.
    let begins_the_log = unsafe { (*file.cast::<Log>()).kept.offset } == 0;
    if crate::lazily::is() && !begins_the_log {
        return hand_on(file);
    }
    let code = then_machine!(file, xSync, flags);
    if code == ffi::SQLITE_OK {
        SYNCS.fetch_add(1, Ordering::Relaxed);
    }
    code
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    into: *mut c_void,
    length: c_int,
    offset: i64,
) -> c_int {
    then_machine!(file, xRead, into, length, offset)
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: i64) -> c_int {
    then_machine!(file, xTruncate, size)
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, size: *mut i64) -> c_int {
    then_machine!(file, xFileSize, size)
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // What was never synced was never promised, but a file that is closed in order holds what was written to it.
    let handed_on = hand_on(file);
    let closed = machine!(file, xClose);
    // SAFETY: SQLite does not touch a file after it closed it; its memory is SQLite's, ours is only what `Kept` holds.
    unsafe { std::ptr::drop_in_place(&raw mut (*file.cast::<Log>()).kept) };
    if handed_on == ffi::SQLITE_OK { closed } else { handed_on }
}

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    machine!(file, xLock, level)
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    machine!(file, xUnlock, level)
}

unsafe extern "C" fn check_reserved_lock(file: *mut ffi::sqlite3_file, out: *mut c_int) -> c_int {
    machine!(file, xCheckReservedLock, out)
}

unsafe extern "C" fn file_control(file: *mut ffi::sqlite3_file, op: c_int, argument: *mut c_void) -> c_int {
    then_machine!(file, xFileControl, op, argument)
}

unsafe extern "C" fn sector_size(file: *mut ffi::sqlite3_file) -> c_int {
    machine!(file, xSectorSize)
}

unsafe extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    machine!(file, xDeviceCharacteristics)
}
