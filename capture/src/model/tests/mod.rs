//! Models of connections whose limits are known.

mod download;
mod limits;
mod overtaken;
mod policers;
mod receiver;
mod unseen;
mod writes;
