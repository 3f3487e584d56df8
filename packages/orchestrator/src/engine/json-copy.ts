/** The part of a value that JSON keeps, so that it is the same before and after it was stored. */
export function jsonCopy<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}
