//! Registers and fields as numbers, for drivers.

/// Location of a register. It contains no text, so that a map costs a program no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterRef {
    /// Bytes from the base of the block, or the register's number if the block is not
    /// memory-mapped.
    pub offset: u32,
    /// Bits.
    pub width: u8,
    /// Value after power-on reset.
    pub reset: u32,
}

/// Location of a field in its register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    /// The lowest bit.
    pub low: u8,
    /// Number of bits; at least 1.
    pub count: u8,
}

impl Bits {
    /// The lowest `count` bits.
    #[inline]
    pub const fn all(count: u8) -> Self {
        Self { low: 0, count }
    }

    /// The mask of the field.
    #[inline]
    pub const fn mask(self) -> u32 {
        (u32::MAX >> (32 - self.count as u32)) << self.low
    }

    /// The value of the field in `word`, shifted down to bit 0.
    #[inline]
    pub const fn get(self, word: u32) -> u32 {
        (word & self.mask()) >> self.low
    }

    /// True if any bit of the field is set in `word`.
    #[inline]
    pub const fn is_set(self, word: u32) -> bool {
        word & self.mask() != 0
    }

    /// `value` shifted into the field; excess bits are dropped.
    #[inline]
    pub const fn of(self, value: u32) -> u32 {
        (value << self.low) & self.mask()
    }

    /// `word` with the field replaced by `value`; excess bits are dropped.
    #[inline]
    pub const fn put(self, word: u32, value: u32) -> u32 {
        (word & !self.mask()) | self.of(value)
    }
}

/// Declares registers, fields and values of a block as constants, read from its map at compile
/// time: a name that the map does not contain fails the build, and no part of the map remains in
/// the program.
///
/// A register is a [`RegisterRef`](crate::RegisterRef); its fields are [`Bits`](crate::Bits) in a
/// module of its name, their values are numbers in a module of the field. `BASE` is the address of
/// the block, if it has one.
///
/// ```
/// mod enet {
///     linerate_regs::constants!(linerate_regs::IMX6, "ENET":
///         TDAR
///         RCR { MAX_FL FCE }
///         MMFR { ST OP { READ WRITE } PA }
///     );
/// }
/// assert_eq!(enet::BASE, Some(0x0218_8000));
/// assert_eq!(enet::RCR.offset, 0x84);
/// assert_eq!(enet::RCR::MAX_FL.of(1522) | enet::RCR::FCE.mask(), 1522 << 16 | 1 << 5);
/// assert_eq!(enet::MMFR::OP.of(enet::MMFR::OP::READ), 2 << 28);
/// ```
///
/// ```compile_fail
/// // The map has no register RXR.
/// linerate_regs::constants!(linerate_regs::IMX6, "ENET": RXR);
/// ```
#[macro_export]
macro_rules! constants {
    ($map:path, $block:literal: $(
        $register:ident $({ $($field:ident $({ $($value:ident)* })?)* })?
    )*) => {
        const BLOCK: $crate::Block<'static> = match $map.block($block) {
            Some(block) => block,
            None => panic!(concat!("the map has no block ", $block)),
        };
        // The compiler interprets this: it reads the block once, instead of once for each name.
        const INDEX: $crate::Index<'static, 'static> = $crate::Index {
            block: BLOCK,
            lines: &BLOCK.index::<{ BLOCK.lines_of_registers() }>(),
        };
        /// Address of offset 0, if the map states it.
        #[allow(dead_code, reason = "a driver may get the address at run time")]
        pub const BASE: Option<u32> = BLOCK.base;
        $(
            #[doc = concat!("`", stringify!($register), "`")]
            #[allow(non_upper_case_globals, reason = "names are the manual's")]
            pub const $register: $crate::RegisterRef = match INDEX.register(stringify!($register)) {
                Some(register) => register.register_ref(),
                None => panic!(concat!("the map has no register ", stringify!($register))),
            };
            $(
                #[doc = concat!("Fields of `", stringify!($register), "`.")]
                #[allow(non_snake_case, non_upper_case_globals, reason = "names are the manual's")]
                pub mod $register {
                    const REGISTER: $crate::Register<'static> =
                        super::INDEX.register(stringify!($register)).unwrap();
                    $(
                        #[doc = concat!("`", stringify!($register), ".", stringify!($field), "`")]
                        pub const $field: $crate::Bits = match REGISTER.field(stringify!($field)) {
                            Some(field) => field.bits,
                            None => panic!(concat!("the map has no field ", stringify!($field))),
                        };
                        $(
                            #[doc = concat!("Values of `", stringify!($field), "`.")]
                            pub mod $field {
                                $(
                                    #[doc = concat!("`", stringify!($value), "`")]
                                    pub const $value: u32 = match super::REGISTER
                                        .field(stringify!($field)).unwrap().value(stringify!($value))
                                    {
                                        Some(value) => value.number,
                                        None => panic!(
                                            concat!("the map has no value ", stringify!($value))
                                        ),
                                    };
                                )*
                            }
                        )?
                    )*
                }
            )?
        )*
    };
}
