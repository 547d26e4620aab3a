//! [`Kept`]: a list whose entries keep their memory when it is cleared.
//!
//! An execution needs about the same tables as the one before. Entries that own memory would be freed at the end of each and allocated again in the next.

/// What can be made as good as new, keeping its memory.
pub(super) trait Renew: Default {
    /// Makes it equal to the default.
    fn renew(&mut self);
}

/// A list of entries. It grows when an entry is asked for that it does not have.
#[derive(Debug, Default)]
pub(super) struct Kept<T> {
    /// Those in use, and after them others that are renewed when they are used again.
    entries: Vec<T>,
    used: usize,
}

impl<T: Renew> Kept<T> {
    /// Takes all entries out of use.
    pub(super) fn clear(&mut self) {
        self.used = 0;
    }

    /// How many entries are in use.
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// The entry with this number, if it is in use.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&T> {
        self.entries[..self.used].get(index)
    }

    /// The entries in use.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries[..self.used].iter()
    }

    /// The entry with this number, which is a new one if it was not in use.
    #[inline]
    pub(super) fn at(&mut self, index: usize) -> &mut T {
        if index >= self.used {
            self.grow(index + 1);
        }
        &mut self.entries[index]
    }

    /// Uses so many entries.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, used: usize) {
        let known = self.entries.len().min(used);
        for entry in &mut self.entries[self.used..known] {
            entry.renew();
        }
        if self.entries.len() < used {
            self.entries.resize_with(used, T::default);
        }
        self.used = used;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Renew for Vec<u32> {
        fn renew(&mut self) {
            self.clear();
        }
    }

    #[test]
    fn what_is_used_again_is_as_good_as_new() {
        let mut list = Kept::<Vec<u32>>::default();
        assert_eq!((list.len(), list.get(0)), (0, None));
        list.at(2).push(7);
        list.at(1).push(6);
        assert_eq!((list.len(), list.get(2)), (3, Some(&vec![7])));
        let memory = list.at(2).as_ptr();
        list.clear();
        assert_eq!((list.len(), list.get(2)), (0, None));
        assert!(list.at(1).is_empty());
        assert_eq!((list.len(), list.get(2)), (2, None));
        assert!(list.at(2).is_empty());
        assert_eq!(list.at(2).as_ptr(), memory);
        assert!(list.at(4).is_empty());
        assert_eq!(list.len(), 5);
    }
}
