//! Configurations, out of shares and a site: pure, and the same bytes each time.
