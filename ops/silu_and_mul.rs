//! Port of `silu_and_mul.py`: silu of one half of each row times the other half.

#[cutile::module]
pub mod silu_and_mul {
    use cutile::core::*;

    /// A tile full of `value`, in 64 bits.
    fn wide<const N: i32>(value: i32) -> Tile<i64, { [N] }> {
        let value: Tile<i32, { [] }> = scalar_to_tile(value);
        let value: Tile<i64, { [] }> = exti(value);
        value.reshape(shape![1]).broadcast(shape![N])
    }

    /// Pointers to the elements at `column` in row `row` of a matrix.
    fn elements<E: ElementType, const N: i32>(
        base: *const E,
        row_stride: i32,
        row: i32,
        column: Tile<i32, { [N] }>,
    ) -> PointerTile<*const E, { [N] }> {
        let row: Tile<i64, { [N] }> = wide::<N>(row);
        let row_stride: Tile<i64, { [N] }> = wide::<N>(row_stride);
        let column: Tile<i64, { [N] }> = exti(column);
        let base: PointerTile<*const E, { [] }> = pointer_to_tile(base);
        let base: PointerTile<*const E, { [1] }> = base.reshape(shape![1]);
        let base: PointerTile<*const E, { [N] }> = base.broadcast(shape![N]);
        let elements: PointerTile<*const E, { [N] }> = base.offset_tile(row * row_stride + column);
        elements
    }

    /// Loads the elements `inside`, as f32, and zeros in place of the others.
    ///
    /// # Safety
    /// The elements `inside` must be readable, and not written during the launch.
    unsafe fn gather<E: ElementType, const N: i32>(
        elements: PointerTile<*const E, { [N] }>,
        inside: Tile<bool, { [N] }>,
    ) -> Tile<f32, { [N] }> {
        let zero: E = convert_scalar(0.0f32);
        let (tile, _token): (Tile<E, { [N] }>, Token) = unsafe {
            load_ptr_tko(
                elements,
                ordering::Weak,
                None::<scope::TileBlock>,
                Some(inside),
                Some(zero),
                None,
                Latency::<0>,
            )
        };
        convert_tile(tile)
    }

    /// # Safety
    /// `x_ptr` and `out_ptr` must be matrices of `2 * n` and `n` columns with one row per block
    /// along axis 0, each row contiguous; `out_ptr` must not overlap anything else.
    ///
    /// tileport: x_ptr = x.ptr
    /// tileport: x_row_stride = x.stride[0]
    /// tileport: out_ptr = out.ptr
    /// tileport: out_row_stride = out.stride[0]
    /// tileport: n = out.shape[1]
    #[cutile::entry(optimization_hints = (sm_90 = (occupancy = 4,), sm_100 = (occupancy = 2,)))]
    pub unsafe fn silu_and_mul_kernel<E: ElementType, const TILE_N: i32>(
        x_ptr: *const E,
        x_row_stride: i32,
        out_ptr: *mut E,
        out_row_stride: i32,
        n: i32,
    ) {
        // SAFETY: extents and strides of a tensor are not negative.
        let (x_row_stride, out_row_stride, n): (i32, i32, i32) = unsafe {
            (
                assume_bounds_lower::<i32, 0>(x_row_stride),
                assume_bounds_lower::<i32, 0>(out_row_stride),
                assume_bounds_lower::<i32, 0>(n),
            )
        };

        let row: i32 = program_id(0);
        let start: i32 = program_id(1) * TILE_N;
        let column: Tile<i32, { [TILE_N] }> = iota(shape![TILE_N]);
        let column: Tile<i32, { [TILE_N] }> = start.broadcast(shape![TILE_N]) + column;
        let n: Tile<i32, { [TILE_N] }> = n.broadcast(shape![TILE_N]);
        let inside: Tile<bool, { [TILE_N] }> = lt_tile(column, n);

        let gate: Tile<f32, { [TILE_N] }> =
            unsafe { gather(elements(x_ptr, x_row_stride, row, column), inside) };
        let up: Tile<f32, { [TILE_N] }> =
            unsafe { gather(elements(x_ptr, x_row_stride, row, n + column), inside) };
        let one: Tile<f32, { [TILE_N] }> = constant(1.0f32, shape![TILE_N]);
        let result: Tile<f32, { [TILE_N] }> = gate / (one + exp(negf(gate))) * up;
        let result: Tile<E, { [TILE_N] }> = convert_tile(result);
        let out_elements: PointerTile<*mut E, { [TILE_N] }> =
            cast_tile_mut(elements(cast_const(out_ptr), out_row_stride, row, column));
        unsafe {
            store_ptr_tko(
                out_elements,
                result,
                ordering::Weak,
                None::<scope::TileBlock>,
                Some(inside),
                None,
                Latency::<0>,
            );
        }
    }
}
