//! The popularity of connections is that of random draws.

use super::Check;
use method::Order;
use procedure::Sends;

const KEY: &str = "traffic.popularity";

impl Check<'_> {
    pub(super) fn popularity(&mut self) {
        let traffic = &self.scenario.traffic;
        if traffic.popularity.is_uniform() {
            return;
        }
        let metrics = &self.scenario.measure.metrics;
        // Beside new connections, held ones have their turn.
        let draws = |metric: &String| self.scenario.sent(metric) == Some(Sends::Frames);
        if traffic.responder_order != Order::Random {
            self.refuse("connections that are used one after the other have no popularity")
                .at(KEY, format!("the Responder is to draw by {}", traffic.popularity))
                .at("traffic.responder-order", "and to take all in turn")
                .instead("remove `responder-order`, or write popularity = \"uniform\"");
        }
        if !metrics.iter().any(draws) {
            self.refuse("`popularity` has no effect")
                .at(KEY, "no metric here has trials that draw connections at random")
                .instead("add \"throughput\" to the metrics, or remove it");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::test_scenarios;

    fn refused(traffic: &str, set: &[&str]) -> String {
        let text = format!("[dut.embedded]\n[sweep]\nconnections = \"1M\"\n[traffic]\n{traffic}\n");
        test_scenarios::refused(&text, set)
    }

    #[test]
    fn a_popularity_without_random_draws_is_refused_at_its_line() {
        let in_turn = refused("popularity = \"zipf 1.0\"\nresponder-order = \"round-robin\"", &[]);
        assert!(in_turn.contains("x.toml:6:") && in_turn.contains("remove `responder-order`"), "{in_turn}");
        for metrics in ["metrics=max_conn_est_rate", "metrics=max_conn_est_rate, churn_rate"] {
            let unused = refused("popularity = \"zipf 1.0\"", &[metrics]);
            assert!(unused.contains("`popularity` has no effect") && unused.contains("x.toml:6:"), "{unused}");
        }
    }

    #[test]
    fn what_is_no_popularity_is_refused_with_an_example() {
        for wrong in ["pareto 1.0", "zipf", "zipf 0", "zipf 11"] {
            let error = refused(&format!("popularity = \"{wrong}\""), &[]);
            assert!(error.contains("zipf 1.0") && error.contains("x.toml:6:"), "{error}");
        }
    }
}
