//! The layer as SQLite sees it: a file system of its own that differs from the machine's in how a log is opened.

#![expect(unsafe_code, reason = "SQLite's interface to file systems is C")]

use std::ffi::{CStr, c_int};
use std::sync::OnceLock;

use rusqlite::ffi;

use crate::file;

const NAME: &CStr = c"banksman-wal";

/// The name to open a connection with (`Connection::open_with_flags_and_vfs`), registered at the first call.
///
/// # Errors
/// If SQLite has no file system to build on, or refuses this one.
pub fn vfs() -> Result<&'static CStr, rusqlite::Error> {
    static REGISTERED: OnceLock<c_int> = OnceLock::new();
    match *REGISTERED.get_or_init(register) {
        ffi::SQLITE_OK => Ok(NAME),
        code => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)),
    }
}

fn register() -> c_int {
    // SAFETY: a null name asks for the default, which lives as long as the process.
    let machine = unsafe { ffi::sqlite3_vfs_find(std::ptr::null()) };
    // SAFETY: SQLite answers with null or with a valid file system.
    let Some(of_machine) = (unsafe { machine.as_ref() }) else {
        return ffi::SQLITE_ERROR;
    };
    let ours = Box::new(ffi::sqlite3_vfs {
        szOsFile: file::size(of_machine.szOsFile),
        zName: NAME.as_ptr(),
        pNext: std::ptr::null_mut(),
        pAppData: machine.cast(),
        xOpen: Some(open),
        // Everything else concerns paths, not open files, and goes straight to the machine's.
        ..*of_machine
    });
    // SAFETY: the structure is complete, and never freed.
    unsafe { ffi::sqlite3_vfs_register(Box::leak(ours), 0) }
}

/// A log is opened as a file of ours, anything else as the machine's.
unsafe extern "C" fn open(
    ours: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite hands us the structure that we registered, whose `pAppData` is the machine's file system.
    let machine = unsafe { (*ours).pAppData.cast::<ffi::sqlite3_vfs>() };
    // SAFETY: as above.
    let Some(machine_open) = (unsafe { (*machine).xOpen }) else {
        return ffi::SQLITE_CANTOPEN;
    };
    if flags & ffi::SQLITE_OPEN_WAL == 0 {
        // SAFETY: the room at `file` is larger than what the machine's files need.
        return unsafe { machine_open(machine, name, file, flags, out_flags) };
    }
    // SAFETY: the room at `file` is what `file::size` asked for.
    unsafe { file::open(file, |inner| machine_open(machine, name, inner, flags, out_flags)) }
}
