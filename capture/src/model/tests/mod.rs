//! Models of connections whose limits are known.

mod download;
mod limits;
mod receiver;
mod unseen;
mod writes;
