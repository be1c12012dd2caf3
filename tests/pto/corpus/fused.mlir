// A fusion region that hands its buffer on, and a vector scope with arguments of its own.
// dmaverify: expect proved
// broken: nburst(%c4_i64, %c256_i64, %c256_i64) {pto.first} => nburst(%c4_i64, %c256_i64, %c128_i64) {pto.first} => pto/row-overlap
module attributes {pto.target_arch = "a5"} {
  func.func @fused(%arg0: !pto.ptr<f32, gm>, %arg1: !pto.ptr<f32, gm>) attributes {pto.aicore} {
    %c0 = arith.constant 0 : index
    %c1_i16 = arith.constant 1 : i16
    %c0_i16 = arith.constant 0 : i16
    %c4_i16 = arith.constant 4 : i16
    %c64 = arith.constant 64 : index
    %c0_i64 = arith.constant 0 : i64
    %c4_i64 = arith.constant 4 : i64
    %c128_i64 = arith.constant 128 : i64
    %c256_i64 = arith.constant 256 : i64
    %c2048_i64 = arith.constant 2048 : i64
    %0 = pto.fusion_region {
      %2 = pto.castptr %c0_i64 : i64 -> !pto.ptr<f32, ub>
      pto.mte_gm_ub %arg0, %2, %c0_i64, %c256_i64 nburst(%c4_i64, %c256_i64, %c256_i64) {pto.first} : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
      pto.yield(%2) : (!pto.ptr<f32, ub>) -> ()
    } {pto.fusion.group_id = 0 : i64} : !pto.ptr<f32, ub>
    %1 = pto.castptr %c2048_i64 : i64 -> !pto.ptr<f32, ub>
    pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
    pto.strict_vecscope(%0, %1, %c64) {
    ^bb0(%arg2: !pto.ptr<f32, ub>, %arg3: !pto.ptr<f32, ub>, %arg4: index):
      %mask = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
      scf.for %arg5 = %c0_i16 to %c4_i16 step %c1_i16  : i16 {
        %2 = arith.index_cast %arg5 : i16 to index
        %3 = arith.muli %2, %arg4 : index
        %4 = pto.vlds %arg2[%3] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
        %5 = pto.vadd %4, %4, %mask : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
        pto.vsts %5, %arg3[%3], %mask : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
      } {pto.hint = "vector"}
    } : (!pto.ptr<f32, ub>, !pto.ptr<f32, ub>, index) -> ()
    pto.set_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID1>]
    pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID1>]
    pto.mte_ub_gm %1, %arg1, %c256_i64 nburst(%c4_i64, %c256_i64, %c256_i64) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>, pto.second} : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
    pto.barrier <PIPE_ALL>
    return
  }
}
