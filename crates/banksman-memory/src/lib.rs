//! The allocator of the binary, and giving back to the system what it holds for nothing.
//!
//! Whoever depends on this crate allocates by it.

/// Where many are served at once, a third of a call's processor time went into the system's allocator. SQLite uses this
/// one too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Gives back to the system all that is free, for whoever has nothing to do: it may take milliseconds, and what is
/// needed again has to be asked for again.
///
/// The allocator does so by itself, but only while somebody allocates: a server that has become quiet would hold on to
/// all that it ever needed at once. Pages that belong to a thread are only looked through on that thread.
pub fn give_back() {
    // SAFETY: it takes no pointers, and may be called on any thread at any time.
    #[expect(unsafe_code, reason = "the allocator is written in C")]
    unsafe {
        libmimalloc_sys::mi_collect(true);
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    /// How many bytes of this process are in memory.
    fn resident() -> usize {
        let status = std::fs::read_to_string("/proc/self/statm").unwrap();
        status.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
    }

    #[test]
    fn what_is_free_is_given_back() {
        const MANY: usize = 16 * 1024;
        let boxes: Vec<Box<[u8; 4000]>> = (0..MANY).map(|number| Box::new([number as u8; 4000])).collect();
        let held = resident();
        drop(boxes);
        super::give_back();
        let left = resident();
        assert!(held - left > MANY * 3000, "of {held} bytes {left} are left");
    }
}
