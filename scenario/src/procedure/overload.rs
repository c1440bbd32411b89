//! The flows of overload scalability (RFC 8219, section 10.2.1).

use key::kind::number;
use key::or;
use method::Count;

key::table! {
    /// What the throughput with all flows is compared with.
    pub struct OverloadScalability {
        /// Flows of the first search; RFC 8219 has one.
        flows: Count = "flows", number(1..=1 << 32), or("1");
    }
}
