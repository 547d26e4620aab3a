//! [`Clock`]: looking at the time now and then.

use std::time::{Duration, Instant};

/// The most ticks between two looks.
const LONGEST_STRIDE: u32 = 1024;
/// Looks that are closer together than this are a waste.
const CLOSE: Duration = Duration::from_millis(2);
/// Looks that are further apart than this are too rare.
const APART: Duration = Duration::from_millis(50);

/// Looks at the time once in so many ticks. How many adapts to how long a tick takes: a microsecond, or much of a second.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    last_look: Instant,
    stride: u32,
    ticks_left: u32,
}

impl Default for Clock {
    fn default() -> Self {
        Self {
            last_look: Instant::now(),
            stride: 1,
            ticks_left: 1,
        }
    }
}

impl Clock {
    /// Counts one piece of work; every so often says what time it is.
    #[inline]
    pub fn tick(&mut self) -> Option<Instant> {
        self.ticks_left -= 1;
        (self.ticks_left == 0).then(|| self.look())
    }

    #[cold]
    fn look(&mut self) -> Instant {
        let now = Instant::now();
        let interval = now - self.last_look;
        if interval < CLOSE {
            self.stride = (self.stride * 2).min(LONGEST_STRIDE);
        } else if interval > APART {
            self.stride = (self.stride / 8).max(1);
        }
        self.last_look = now;
        self.ticks_left = self.stride;
        now
    }
}
