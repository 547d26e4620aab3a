//! [`Monitor`]: time, memory, cancellation and progress, looked at now and then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use raddle_outcome::Kind;

/// How a search is coming along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// States stored.
    pub states: u64,
    /// Steps executed.
    pub transitions: u64,
    /// Nodes that wait to be expanded.
    pub frontier: u64,
    /// How far the state is that was expanded last.
    pub depth: u64,
    /// The memory of store, links and frontier.
    pub memory_bytes: u64,
    /// How much it may be, if there is a limit.
    pub max_memory: Option<u64>,
    /// The time since the start.
    pub elapsed: Duration,
}

impl Progress {
    /// The memory for each state.
    #[must_use]
    pub fn bytes_per_state(&self) -> f64 {
        self.memory_bytes as f64 / self.states.max(1) as f64
    }

    /// How long the memory that is allowed will last, if it goes on like this. Nothing if there is no limit, or too little was taken to tell.
    #[must_use]
    pub fn memory_lasts(&self) -> Option<Duration> {
        let limit = self
            .max_memory
            .filter(|limit| self.memory_bytes > limit / 50)?;
        let left = limit.saturating_sub(self.memory_bytes) as f64;
        Duration::try_from_secs_f64(self.elapsed.as_secs_f64() * left / self.memory_bytes as f64)
            .ok()
    }
}

/// The most ticks between two looks at the clock.
const LONGEST_STRIDE: u32 = 1024;
/// Looks at the clock that are closer together than this are a waste.
const CLOSE: Duration = Duration::from_millis(2);
/// Looks at the clock that are further apart than this are too rare.
const APART: Duration = Duration::from_millis(50);
/// Between two looks, the memory should not grow by more than this part of what it may be.
const SMALL_PART: u64 = 50;
const BETWEEN_REPORTS: Duration = Duration::from_millis(100);

/// Who is told how a search is coming along.
pub(super) type OnProgress<'a> = Box<dyn FnMut(&Progress) + 'a>;

/// Looks at the clock and everything else that is too slow for every state.
pub(super) struct Monitor<'a> {
    pub(super) timeout: Option<Duration>,
    pub(super) max_memory: Option<u64>,
    pub(super) cancel: Option<Arc<AtomicBool>>,
    pub(super) on_progress: Option<OnProgress<'a>>,
    pub(super) started: Instant,
    last_look: Instant,
    last_report: Instant,
    /// Ticks between two looks. It adapts to the speed of the system: one state can
    /// take a microsecond or a second.
    stride: u32,
    ticks_left: u32,
    /// Since the last look: how many ticks were to come then, and how much memory there was.
    last_ticks: u32,
    last_memory: u64,
}

impl<'a> Monitor<'a> {
    pub(super) fn start() -> Self {
        let now = Instant::now();
        Self {
            timeout: None,
            max_memory: None,
            cancel: None,
            on_progress: None,
            started: now,
            last_look: now,
            last_report: now,
            stride: 1,
            ticks_left: 1,
            last_ticks: 1,
            last_memory: 0,
        }
    }

    /// Counts one piece of work; every so often looks whether a limit is reached.
    #[inline]
    pub(super) fn tick(&mut self, progress: impl FnOnce() -> Progress) -> Option<Kind> {
        match self.is_due() {
            true => self.look(progress()),
            false => None,
        }
    }

    /// Counts one piece of work, and says whether it is time to [look](Self::look) whether a limit is reached.
    #[inline]
    pub(super) fn is_due(&mut self) -> bool {
        self.ticks_left -= 1;
        self.ticks_left == 0
    }

    /// Has the next tick look.
    pub(super) fn hurry(&mut self) {
        self.ticks_left = 1;
    }

    /// Looks whether a limit is reached.
    #[cold]
    pub(super) fn look(&mut self, mut progress: Progress) -> Option<Kind> {
        let now = Instant::now();
        let interval = now - self.last_look;
        if interval < CLOSE {
            self.stride = (self.stride * 2).min(LONGEST_STRIDE);
        } else if interval > APART {
            self.stride = (self.stride / 8).max(1);
        }
        self.last_look = now;
        self.ticks_left = self.stride.min(self.ticks_of_memory(progress.memory_bytes));
        self.last_ticks = self.ticks_left;
        progress.elapsed = now - self.started;
        progress.max_memory = self.max_memory;
        if let Some(report) = &mut self.on_progress
            && now - self.last_report >= BETWEEN_REPORTS
        {
            self.last_report = now;
            report(&progress);
        }
        if self
            .cancel
            .as_ref()
            .is_some_and(|flag| flag.load(Ordering::Relaxed))
        {
            Some(Kind::Cancelled)
        } else if self.timeout.is_some_and(|limit| progress.elapsed >= limit) {
            Some(Kind::Time)
        } else if self
            .max_memory
            .is_some_and(|limit| progress.memory_bytes > limit)
        {
            Some(Kind::Memory)
        } else {
            None
        }
    }

    /// How many ticks it takes until the memory has grown by a small part of the limit, if it goes on as since the last look.
    fn ticks_of_memory(&mut self, now: u64) -> u32 {
        let grown = now.saturating_sub(std::mem::replace(&mut self.last_memory, now));
        let Some(limit) = self.max_memory else {
            return u32::MAX;
        };
        let ticks = limit / SMALL_PART * u64::from(self.last_ticks) / grown.max(1);
        u32::try_from(ticks).unwrap_or(u32::MAX).max(1)
    }
}
