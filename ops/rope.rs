//! Port of `rope.py`: rotary position embedding of queries and keys, in place.

#[cutile::module]
pub mod rope {
    use cutile::core::*;

    /// Row `position` of a table, as f32.
    fn table_row<E: ElementType, const HALF: i32, const TILE_R: i32>(
        table: &Tensor<E, { [-1, HALF] }>,
        position: i32,
    ) -> Tile<f32, { [1, 1, 1, TILE_R] }> {
        let rows: Partition<E, { [1, TILE_R] }> = table.partition(shape![1, TILE_R]);
        // Not `rows.load`: it would check at run time that `position` lies in the table, as the
        // caller promises.
        let row: Tile<E, { [1, TILE_R] }> = load_view_tko(
            &rows,
            [position, 0i32],
            ordering::Weak,
            scope::TileBlock,
            None,
            tma::Enabled,
        );
        let row: Tile<f32, { [1, TILE_R] }> = convert_tile(row);
        row.reshape(shape![1, 1, 1, TILE_R])
    }

    /// Loads half `half` of all heads of token `t`; returns when it is loaded, too.
    fn load_half<
        E: ElementType,
        const H: i32,
        const HALF: i32,
        const TILE_H: i32,
        const TILE_R: i32,
    >(
        x: &Tensor<E, { [-1, H, 2, HALF] }>,
        t: i32,
        half: i32,
    ) -> (Tile<f32, { [1, TILE_H, 1, TILE_R] }>, Token) {
        let tiles: Partition<E, { [1, TILE_H, 1, TILE_R] }> =
            x.partition(shape![1, TILE_H, 1, TILE_R]);
        // Not `tiles.load`: it tells nobody when it is done.
        let tile: Tile<E, { [1, TILE_H, 1, TILE_R] }> = load_view_tko(
            &tiles,
            [t, 0i32, half, 0i32],
            ordering::Weak,
            scope::TileBlock,
            None,
            tma::Enabled,
        );
        let loaded: Token = get_partition_token(&tiles);
        let tile: Tile<f32, { [1, TILE_H, 1, TILE_R] }> = convert_tile(tile);
        (tile, loaded)
    }

    /// Stores half `half` of all heads of token `t`, after `after`; returns when it is stored.
    ///
    /// # Safety
    /// No other block may read or write token `t`.
    unsafe fn store_half<
        E: ElementType,
        const H: i32,
        const HALF: i32,
        const TILE_H: i32,
        const TILE_R: i32,
    >(
        x: &Tensor<E, { [-1, H, 2, HALF] }>,
        tile: Tile<f32, { [1, TILE_H, 1, TILE_R] }>,
        t: i32,
        half: i32,
        after: Token,
    ) -> Token {
        let tile: Tile<E, { [1, TILE_H, 1, TILE_R] }> = convert_tile(tile);
        let mut tiles: PartitionMut<E, { [1, TILE_H, 1, TILE_R] }> = unsafe {
            make_partition_view_mut(x, shape![1, TILE_H, 1, TILE_R], padding::None, after)
        };
        tiles.store(tile, [t, 0, half, 0]);
        get_partition_token_mut(&tiles)
    }

    /// Turns all pairs of token `t` in `x` (T, H, 2, HALF).
    fn rotate<
        E: ElementType,
        const H: i32,
        const HALF: i32,
        const TILE_H: i32,
        const TILE_R: i32,
    >(
        x: &Tensor<E, { [-1, H, 2, HALF] }>,
        t: i32,
        cos: Tile<f32, { [1, 1, 1, TILE_R] }>,
        sin: Tile<f32, { [1, 1, 1, TILE_R] }>,
    ) {
        let (first, first_loaded): (Tile<f32, { [1, TILE_H, 1, TILE_R] }>, Token) =
            load_half::<E, H, HALF, TILE_H, TILE_R>(x, t, 0i32);
        let (second, second_loaded): (Tile<f32, { [1, TILE_H, 1, TILE_R] }>, Token) =
            load_half::<E, H, HALF, TILE_H, TILE_R>(x, t, 1i32);
        let cos: Tile<f32, { [1, TILE_H, 1, TILE_R] }> =
            cos.broadcast(shape![1, TILE_H, 1, TILE_R]);
        let sin: Tile<f32, { [1, TILE_H, 1, TILE_R] }> =
            sin.broadcast(shape![1, TILE_H, 1, TILE_R]);
        let turned_first: Tile<f32, { [1, TILE_H, 1, TILE_R] }> = fma(
            first,
            cos,
            negf(second * sin),
            rounding::NearestEven,
            ftz::Disabled,
        );
        let turned_second: Tile<f32, { [1, TILE_H, 1, TILE_R] }> = fma(
            second,
            cos,
            first * sin,
            rounding::NearestEven,
            ftz::Disabled,
        );
        // In place: what is stored must not overtake what is loaded.
        let loaded: Token = join_tokens(&[first_loaded, second_loaded]);
        // SAFETY: each block turns a token of its own.
        unsafe {
            let stored: Token =
                store_half::<E, H, HALF, TILE_H, TILE_R>(x, turned_first, t, 0i32, loaded);
            store_half::<E, H, HALF, TILE_H, TILE_R>(x, turned_second, t, 1i32, stored);
        }
    }

    #[cutile::entry(optimization_hints = (sm_90 = (occupancy = 4,), sm_100 = (occupancy = 2,)))]
    pub fn rope_kernel<
        E: ElementType,
        C: ElementType,
        const TILE_HQ: i32,
        const TILE_HK: i32,
        const TILE_R: i32,
        const HQ: i32,
        const HK: i32,
        const HALF: i32,
    >(
        q: &Tensor<E, { [-1, HQ, 2, HALF] }>,
        k: &Tensor<E, { [-1, HK, 2, HALF] }>,
        cos: &Tensor<C, { [-1, HALF] }>,
        sin: &Tensor<C, { [-1, HALF] }>,
        positions: &Tensor<i32, { [-1] }>,
    ) {
        let t: i32 = program_id(0);
        let position: Tile<i32, { [1] }> = positions.partition(shape![1]).load([t]);
        let position: i32 = tile_to_scalar(position.reshape(shape![]));
        let cos_row: Tile<f32, { [1, 1, 1, TILE_R] }> = table_row::<C, HALF, TILE_R>(cos, position);
        let sin_row: Tile<f32, { [1, 1, 1, TILE_R] }> = table_row::<C, HALF, TILE_R>(sin, position);
        rotate::<E, HQ, HALF, TILE_HQ, TILE_R>(q, t, cos_row, sin_row);
        rotate::<E, HK, HALF, TILE_HK, TILE_R>(k, t, cos_row, sin_row);
    }
}
