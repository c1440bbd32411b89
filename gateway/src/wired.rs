//! In-process links for tests of a worker.

use crate::EmbeddedConfig;
use port::link::{Steer, link};
use port::{Clock, Pool, PoolConfig, Port};

pub(crate) fn wired(clock: Clock) -> (Pool, [Box<dyn Port>; 2], EmbeddedConfig) {
    let mut pools = Pool::for_workers(PoolConfig::compact(2, 64, 60)).unwrap();
    let own = pools.remove(0);
    let end = |name| link(name, clock, 32, (1, Steer::First), (1, Steer::First));
    let ((mut left, mut customer), (mut right, mut internet)) = (end("left"), end("right"));
    let ports: (Box<dyn Port>, Box<dyn Port>) = (Box::new(customer.remove(0)), Box::new(internet.remove(0)));
    let config = EmbeddedConfig::in_process(vec![ports], pools, vec![None]);
    (own, [Box::new(left.remove(0)), Box::new(right.remove(0))], config)
}
