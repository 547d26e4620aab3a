//! [`States`]: what the engine needs of a store, whether or not others use it as well.

use crate::store::{Inserted, ShardedStore, StateId, Store, StoreFull};

/// The states that were reached, as the engine uses them.
pub(super) trait States {
    fn insert(&mut self, bytes: &[u8]) -> Result<(StateId, Inserted), StoreFull>;
    fn contains(&self, bytes: &[u8]) -> bool;
    fn read(&self, id: StateId, see: impl FnOnce(&[u8]));
    fn len(&self) -> usize;
    fn memory_bytes(&self) -> usize;
}

impl<St: Store> States for &mut St {
    fn insert(&mut self, bytes: &[u8]) -> Result<(StateId, Inserted), StoreFull> {
        (**self).insert(bytes)
    }

    fn contains(&self, bytes: &[u8]) -> bool {
        self.find(bytes).is_some()
    }

    fn read(&self, id: StateId, see: impl FnOnce(&[u8])) {
        see(self.get(id));
    }

    fn len(&self) -> usize {
        (**self).len()
    }

    fn memory_bytes(&self) -> usize {
        (**self).memory_bytes()
    }
}

impl States for &ShardedStore {
    fn insert(&mut self, bytes: &[u8]) -> Result<(StateId, Inserted), StoreFull> {
        (**self).insert(bytes)
    }

    fn contains(&self, bytes: &[u8]) -> bool {
        (**self).contains(bytes)
    }

    fn read(&self, id: StateId, see: impl FnOnce(&[u8])) {
        (**self).read(id, see);
    }

    fn len(&self) -> usize {
        (**self).len()
    }

    fn memory_bytes(&self) -> usize {
        (**self).memory_bytes()
    }
}
