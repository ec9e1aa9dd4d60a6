/** A rough count, where the store's own estimate is not at hand: about four bytes of UTF-8 are a token, in every script. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}
