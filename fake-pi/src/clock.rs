//! Virtual time and deterministic ids.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::time::Instant;

/// The moment at which every simulated host starts: 2026-01-01T00:00:00Z, in milliseconds of the Unix epoch.
const START_MS: u64 = 1_767_225_600_000;
const MS_PER_DAY: u64 = 86_400_000;

/// Reads tokio's clock as Pi would read the wall clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    started: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            started: Instant::now(),
        }
    }

    /// Milliseconds of the Unix epoch, in virtual time.
    pub(crate) fn now_ms(&self) -> u64 {
        let passed = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        START_MS.saturating_add(passed)
    }

    /// The same moment as session entries write it.
    pub(crate) fn now_iso(&self) -> String {
        iso(self.now_ms())
    }
}

/// Writes a moment as JavaScript's `toISOString` does.
fn iso(ms: u64) -> String {
    let (days, rest) = (ms / MS_PER_DAY, ms % MS_PER_DAY);
    let (year, month, day) = civil(days);
    let (hours, minutes) = (rest / 3_600_000, rest / 60_000 % 60);
    let (seconds, millis) = (rest / 1000 % 60, rest % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{millis:03}Z")
}

/// Reads what [`iso`] wrote; 0 for anything else.
pub(crate) fn ms_of_iso(text: &str) -> u64 {
    let number = |from: usize, to: usize| -> Option<u64> { text.get(from..to)?.parse().ok() };
    let read = || {
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        // The year begins in March, so that the leap day is its last.
        let (year, month) = if month > 2 {
            (year, month - 3)
        } else {
            (year.checked_sub(1)?, month + 9)
        };
        let before = 365 * year + year / 4 - year / 100 + year / 400;
        let days = (before + (153 * month + 2) / 5 + day).checked_sub(719_469)?;
        let time = number(11, 13)? * 3_600_000 + number(14, 16)? * 60_000;
        Some(days * MS_PER_DAY + time + number(17, 19)? * 1000 + number(20, 23)?)
    };
    read().unwrap_or_default()
}

/// The Gregorian date of a day counted from 1970-01-01, by counting from a March-based year 0.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let of_era = shifted % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

/// Draws ids from a counter and the host's seed, so that two runs of one case give the same ones.
#[derive(Debug)]
pub(crate) struct Ids {
    seed: u64,
    drawn: AtomicU64,
}

impl Ids {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            drawn: AtomicU64::new(0),
        }
    }

    /// SplitMix64: unlike the counter itself, its outputs look like the real ids and collide as rarely.
    fn next(&self) -> u64 {
        let drawn = self.drawn.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let mut bits = self
            .seed
            .wrapping_add(drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// An entry's id: eight hex digits.
    pub(crate) fn entry(&self) -> String {
        format!("{:08x}", self.next() >> 32)
    }

    /// A session's id in the shape of a UUIDv7, whose first 48 bits are the time (pi-host.md 11).
    pub(crate) fn session(&self, now_ms: u64) -> String {
        self.uuid(Some(now_ms))
    }

    /// A random-looking UUID, as the ids of `extension_ui_request`.
    pub(crate) fn request(&self) -> String {
        self.uuid(None)
    }

    fn uuid(&self, now_ms: Option<u64>) -> String {
        let (high, low) = (self.next(), self.next());
        let head = now_ms.unwrap_or(high >> 16) & 0xffff_ffff_ffff;
        let version = if now_ms.is_some() { 7 } else { 4 };
        format!(
            "{:08x}-{:04x}-{version:x}{:03x}-{:04x}-{:012x}",
            head >> 16,
            head & 0xffff,
            high & 0xfff,
            0x8000 | (low >> 50),
            low & 0xffff_ffff_ffff
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_gregorian() {
        assert_eq!(iso(START_MS), "2026-01-01T00:00:00.000Z");
        assert_eq!(iso(1_709_164_800_123), "2024-02-29T00:00:00.123Z");
        assert_eq!(iso(951_868_799_999), "2000-02-29T23:59:59.999Z");
        for moment in [START_MS, 1_709_164_800_123, 951_868_799_999, 0] {
            assert_eq!(ms_of_iso(&iso(moment)), moment);
        }
        assert_eq!(ms_of_iso("yesterday"), 0);
    }

    #[test]
    fn ids_repeat_with_the_seed_and_only_with_it() {
        let (one, same, other) = (Ids::new(1), Ids::new(1), Ids::new(2));
        let first = one.entry();
        assert_eq!(first, same.entry());
        assert_ne!(first, other.entry());
        assert_ne!(first, one.entry());
        let session = one.session(START_MS);
        assert_eq!((session.len(), session.as_bytes()[14]), (36, b'7'));
    }
}
