//! States as a store sees them: words, in parts. See [`raddle_store::parts`].

pub use raddle_store::hash_words;
pub use raddle_store::parts::*;

/// Whether bringing a state into canonical form has changed anything but what steps changed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renamed {
    /// Every part is as it was.
    Nothing,
    /// Names have changed, or parts have appeared or disappeared: all parts may have changed.
    Something,
}

impl Renamed {
    /// What has changed altogether after steps that changed those parts.
    #[must_use]
    #[inline]
    pub fn after(self, changed: Changed) -> Changed {
        match self {
            Self::Nothing => changed,
            Self::Something => Changed::ALL,
        }
    }
}
