// As a compiler prints it: numbered values, memrefs, strides that nothing uses, a guard around the body.
// dmaverify: expect proved
// broken: nburst(%c1_i64, %c512_i64, %c0_i64) => nburst(%c512_i64, %c512_i64, %c0_i64) => pto/row-overlap
// dmaverify: gm %arg0 = 40x2048xf32
// dmaverify: gm %arg1 = 40x2048xbf16
module attributes {pto.target_arch = "a5", pto.kernel_kind = #pto.kernel_kind<vector>} {
  func.func @printed(%arg0: memref<?xf32, #pto.address_space<gm>>, %arg1: memref<?xbf16, #pto.address_space<gm>>) attributes {pto.entry, pto.aicore} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c40 = arith.constant 40 : index
    %c256 = arith.constant 256 : index
    %c2048 = arith.constant 2048 : index
    %c0_i16 = arith.constant 0 : i16
    %c64_i16 = arith.constant 64 : i16
    %c256_i16 = arith.constant 256 : i16
    %c0_i64 = arith.constant 0 : i64
    %c1_i64 = arith.constant 1 : i64
    %c512_i64 = arith.constant 512 : i64
    %c1024_i64 = arith.constant 1024 : i64
    %c2048_i64 = arith.constant 2048 : i64
    %0 = pto.get_block_idx
    %1 = arith.index_cast %0 : i64 to index
    %2 = arith.cmpi ult, %1, %c40 : index
    scf.if %2 {
      scf.for %arg2 = %c0 to %c8 step %c1 {
        %3 = arith.muli %1, %c2048 : index
        %4 = arith.muli %arg2, %c256 : index
        %5 = arith.addi %3, %4 : index
        %6 = pto.castptr %arg0 : memref<?xf32, #pto.address_space<gm>> -> !pto.ptr<f32, gm>
        %7 = pto.addptr %6, %5 : <f32, gm> -> <f32, gm>
        %8 = pto.pointer_cast(%c512_i64) %c1, %c256 {config = #pto.tile_buf_config<blayout=#pto.blayout<row_major>, slayout=#pto.slayout<none_box>, s_fractal_size=512, pad=#pto.pad_value<null>, compact=#pto.compact_mode<null>>} : memref<1x256xf32, #pto.address_space<vec>>
        %9 = pto.castptr %8 : memref<1x256xf32, #pto.address_space<vec>> -> !pto.ptr<f32, ub>
        %10 = pto.addptr %7, %c0 : <f32, gm> -> <f32, gm>
        %11 = pto.addptr %9, %c0 : <f32, ub> -> <f32, ub>
        pto.mte_gm_ub %10, %11, %c0_i64, %c1024_i64 nburst(%c1_i64, %c0_i64, %c1024_i64) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0>, pto.tilelib.impl = "other"} : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
        pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
        pto.fusion_region {
          pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
          %15 = pto.castptr %8 : memref<1x256xf32, #pto.address_space<vec>> -> !pto.ptr<f32, ub>
          %16 = pto.castptr %c2048_i64 : i64 -> !pto.ptr<bf16, ub>
          pto.vecscope {
            %17 = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
            scf.for %arg3 = %c0_i16 to %c256_i16 step %c64_i16  : i16 {
              %18 = arith.index_cast %arg3 : i16 to index
              %19 = pto.addptr %15, %18 : <f32, ub> -> <f32, ub>
              %result = pto.vlds %19[%c0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
              %20 = pto.vcvt %result, %17 {part = "EVEN", rnd = "R", sat = "SAT"} : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<128xbf16>
              %21 = pto.addptr %16, %18 : <bf16, ub> -> <bf16, ub>
              pto.vsts %20, %21[%c0], %17 {dist = "PK_B32"} : !pto.vreg<128xbf16>, !pto.ptr<bf16, ub>, !pto.mask<b32>
            } {pto.tilelib.candidate = "narrow"}
          }
          pto.yield() : () -> ()
        } {pto.fusion.group_id = 3 : i64}
        pto.set_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
        pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
        %12 = pto.castptr %arg1 : memref<?xbf16, #pto.address_space<gm>> -> !pto.ptr<bf16, gm>
        %13 = pto.addptr %12, %5 : <bf16, gm> -> <bf16, gm>
        %14 = pto.castptr %c2048_i64 : i64 -> !pto.ptr<bf16, ub>
        pto.mte_ub_gm %14, %13, %c512_i64 nburst(%c1_i64, %c512_i64, %c0_i64) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>} : !pto.ptr<bf16, ub>, !pto.ptr<bf16, gm>, i64, i64, i64, i64
        pto.set_flag[<PIPE_MTE3>, <PIPE_V>, <EVENT_ID0>]
        pto.wait_flag[<PIPE_MTE3>, <PIPE_V>, <EVENT_ID0>]
        pto.set_flag[<PIPE_V>, <PIPE_MTE2>, <EVENT_ID0>]
        pto.wait_flag[<PIPE_V>, <PIPE_MTE2>, <EVENT_ID0>]
      } {pto.loop = "tiles"}
    } {pto.guard}
    pto.barrier <PIPE_ALL>
    return
  }
}
