//! Port of `matmul.py`: matrix product with a swizzled grid.

#[cutile::module]
pub mod matmul {
    use cutile::core::*;

    /// Rows of tiles per group of the swizzle.
    const GROUP_SIZE_M: i32 = 8;

    /// Python's `//`: rounds down, where `/` would truncate.
    fn floor_div(a: i32, b: i32) -> i32 {
        let a: Tile<i32, { [] }> = scalar_to_tile(a);
        let b: Tile<i32, { [] }> = scalar_to_tile(b);
        let quotient: Tile<i32, { [] }> = divi(a, b, rounding::NegativeInf);
        tile_to_scalar(quotient)
    }

    /// Row and column, in tiles, of the tile that `block` computes.
    fn swizzle(block: i32, rows: i32, columns: i32) -> (i32, i32) {
        let group: i32 = floor_div(block, GROUP_SIZE_M * columns);
        let first_row: i32 = group * GROUP_SIZE_M;
        // The last group may be lower than the others.
        let group_rows: i32 = min(rows - first_row, GROUP_SIZE_M);
        let in_group: i32 = block - first_row * columns;
        let column: i32 = floor_div(in_group, group_rows);
        (first_row + (in_group - column * group_rows), column)
    }

    /// Tile (`row`, `column`). Not `tiles.load`: it would check at run time what the swizzle and
    /// the loop over K ensure.
    fn load<E: ElementType, const ROWS: i32, const COLUMNS: i32>(
        tiles: &Partition<E, { [ROWS, COLUMNS] }>,
        row: i32,
        column: i32,
    ) -> Tile<E, { [ROWS, COLUMNS] }> {
        load_view_tko(
            tiles,
            [row, column],
            ordering::Weak,
            scope::TileBlock,
            None,
            tma::Enabled,
        )
    }

    #[cutile::entry(optimization_hints = (sm_100 = (num_cta_in_cga = 2,),))]
    pub fn matmul_kernel<
        E: ElementType,
        const TILE_M: i32,
        const TILE_N: i32,
        const TILE_K: i32,
        const USE_TF32: bool,
    >(
        a: &Tensor<E, { [-1, -1] }>,
        b: &Tensor<E, { [-1, -1] }>,
        c: &Tensor<E, { [-1, -1] }>,
    ) {
        // `partition` pads with zeros, as the end of K needs it: 0 * NaN is NaN.
        let a_tiles: Partition<E, { [TILE_M, TILE_K] }> = a.partition(shape![TILE_M, TILE_K]);
        let b_tiles: Partition<E, { [TILE_K, TILE_N] }> = b.partition(shape![TILE_K, TILE_N]);
        let rows: i32 = ceil_div(c.shape()[0], TILE_M);
        let columns: i32 = ceil_div(c.shape()[1], TILE_N);
        let (row, column) = swizzle(program_id(0), rows, columns);

        let mut acc: Tile<f32, { [TILE_M, TILE_N] }> = constant(0.0f32, shape![TILE_M, TILE_N]);
        for k in 0..ceil_div(a.shape()[1], TILE_K) {
            let a_tile: Tile<E, { [TILE_M, TILE_K] }> = load(&a_tiles, row, k);
            let b_tile: Tile<E, { [TILE_K, TILE_N] }> = load(&b_tiles, k, column);
            if USE_TF32 {
                let a_tile: Tile<tf32, { [TILE_M, TILE_K] }> = convert_tile(a_tile);
                let b_tile: Tile<tf32, { [TILE_K, TILE_N] }> = convert_tile(b_tile);
                acc = mma(a_tile, b_tile, acc);
            } else {
                acc = mma(a_tile, b_tile, acc);
            }
        }
        let c_tile: Tile<E, { [TILE_M, TILE_N] }> = convert_tile(acc);
        // SAFETY: the swizzle maps each block to a tile of its own, inside the grid of tiles.
        unsafe {
            let mut c_tiles: PartitionMut<E, { [TILE_M, TILE_N] }> =
                c.partition_full_mut(shape![TILE_M, TILE_N]);
            c_tiles.store_unchecked(c_tile, [row, column]);
        }
    }
}
